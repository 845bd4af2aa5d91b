//! `laptime run` against the bare command: endings, streams, signals, terminals, and what is kept.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "signals, dispositions and terminals of the processes under test")]

#[path = "run/terminal.rs"]
mod terminal;
#[path = "run/tracked.rs"]
mod tracked;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use terminal::Terminal;
use tracked::Tracked;

const LAPTIME: &str = env!("CARGO_BIN_EXE_laptime");

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// `laptime` in a folder of its own, without what the environment of the tests may say.
fn laptime(folder: &Path) -> Command {
    let mut command = Command::new(LAPTIME);
    command.current_dir(folder).env("LAPTIME_DATA_DIR", folder.join("data"));
    command.env_remove("SLURM_JOB_END_TIME");
    for name in ["DIR", "NAME", "QUIET", "DISABLED", "RUN", "BEGAN", "HOOKS", "PACKAGE", "PYTHON"] {
        command.env_remove(format!("LAPTIME_{name}"));
    }
    command
}

fn run(folder: &Path, options: &[&str], words: &[&str]) -> Output {
    laptime(folder).arg("run").args(options).arg("--").args(words).output().unwrap()
}

fn bare(words: &[&str]) -> Output {
    Command::new(words[0]).args(&words[1..]).output().unwrap()
}

/// The word that `waitpid` gives, without the bit that says a core was dumped.
fn status_word(output: &Output) -> i32 {
    output.status.into_raw() & !0x80
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The folders of runs in a catalogue.
fn runs(catalogue: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(catalogue) else { return Vec::new() };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("run.json").exists())
        .filter(|path| !path.is_symlink())
        .collect()
}

fn report(folder: &Path) -> serde_json::Value {
    let shown = laptime(folder).args(["report", "--json"]).output().unwrap();
    serde_json::from_slice(&shown.stdout).unwrap()
}

#[test]
fn every_exit_code_is_the_commands() {
    let folder = folder();
    for code in 0..=255 {
        let script = format!("exit {code}");
        let words = ["sh", "-c", script.as_str()];
        assert_eq!(status_word(&run(folder.path(), &["-q"], &words)), status_word(&bare(&words)), "{code}");
    }
}

#[test]
fn every_signal_that_ends_the_command_ends_laptime() {
    let folder = folder();
    let stopping = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
    for signal in (1..=31).chain([34, 40, 64]).filter(|signal| !stopping.contains(signal)) {
        let script = format!("kill -{signal} $$");
        let words = ["sh", "-c", script.as_str()];
        let (ours, theirs) = (run(folder.path(), &["-q"], &words), bare(&words));
        assert_eq!(status_word(&ours), status_word(&theirs), "{signal}");
    }
}

#[test]
fn streams_pass_byte_for_byte_and_the_report_goes_to_standard_error() {
    let folder = folder();
    let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at * 7 % 256) as u8).collect();
    let mut command = laptime(folder.path());
    command.args(["run", "--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || input.write_all(&sent).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.stdout == bytes, "standard output differs");
    assert!(text(&output.stderr).starts_with("laptime  cat  "), "{}", text(&output.stderr));
}

#[test]
fn output_that_the_command_closes_ends_for_its_reader_while_the_command_goes_on() {
    let folder = folder();
    let mut child = laptime(folder.path())
        .args(["run", "-q", "--", "sh", "-c", "echo out; exec >&-; read line; exit 7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut heard = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut heard).unwrap();
    assert_eq!(heard, "out\n");
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

#[test]
fn words_reach_the_command_as_they_were_typed() {
    let folder = folder();
    let odd: Vec<OsString> =
        [&b"a b"[..], b"\"q'", b"new\nline", b"--", b"--dir", b"$HOME", b"\xff\xfe", b""]
            .iter()
            .map(|word| OsString::from_vec(word.to_vec()))
            .collect();
    let words = |command: &mut Command| command.args(["printf", "<%s>"]).args(&odd).output().unwrap().stdout;
    let bare = Command::new("printf").arg("<%s>").args(&odd).output().unwrap().stdout;
    assert!(words(laptime(folder.path()).args(["run", "-q", "--"])) == bare);
    // Without `--` everything after the program is the program's, too.
    assert!(words(laptime(folder.path()).args(["run", "-q"])) == bare);
}

#[test]
fn open_files_are_inherited_as_by_a_bare_command() {
    let folder = folder();
    let with_files = |mut command: Command| {
        let open = || {
            for number in 100..228 {
                // SAFETY: plain calls on descriptors of the child that is about to start.
                unsafe { libc::dup2(2, number) };
            }
            Ok(())
        };
        // SAFETY: `dup2` is allowed between fork and exec.
        unsafe { command.pre_exec(open) };
        text(&command.output().unwrap().stdout)
    };
    let mut ours = laptime(folder.path());
    ours.args(["run", "-q", "--", "ls", "/proc/self/fd"]);
    let mut theirs = Command::new("ls");
    theirs.arg("/proc/self/fd");
    let (ours, theirs) = (with_files(ours), with_files(theirs));
    assert!(theirs.lines().count() >= 128);
    assert_eq!(ours, theirs);
}

#[test]
fn masks_and_dispositions_are_those_of_a_bare_command() {
    let folder = folder();
    let odd = || {
        // SAFETY: calls that are allowed between fork and exec.
        unsafe {
            for signal in [libc::SIGHUP, libc::SIGPIPE, libc::SIGCHLD, libc::SIGUSR1] {
                libc::signal(signal, libc::SIG_IGN);
            }
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&raw mut mask, libc::SIGUSR2);
            libc::sigprocmask(libc::SIG_BLOCK, &raw const mask, std::ptr::null_mut());
        }
        Ok(())
    };
    let words = ["grep", "^Sig\\(Ign\\|Blk\\|Cgt\\)", "/proc/self/status"];
    for ignoring in [false, true] {
        let output = |mut command: Command| {
            if ignoring {
                // SAFETY: as above.
                unsafe { command.pre_exec(odd) };
            }
            let status = text(&command.output().unwrap().stdout);
            let sets = status.lines().filter_map(|line| line.split_once(':'));
            // Signals 32 and 33 are the C library's own: it takes them when the first thread starts.
            let set = |bits: &str| u64::from_str_radix(bits.trim(), 16).unwrap() & !(0b11 << 31);
            sets.map(|(name, bits)| (name.to_owned(), set(bits))).collect::<Vec<_>>()
        };
        let mut ours = laptime(folder.path());
        ours.args(["run", "-q", "--"]).args(words);
        let mut theirs = Command::new(words[0]);
        theirs.args(&words[1..]);
        assert_eq!(output(ours), output(theirs), "ignoring: {ignoring}");
        let mut off = laptime(folder.path());
        off.env("LAPTIME_DISABLED", "1").args(["run", "--"]).args(words);
        let mut theirs = Command::new(words[0]);
        theirs.args(&words[1..]);
        assert_eq!(output(off), output(theirs), "switched off, ignoring: {ignoring}");
    }
}

/// Counts signals, says each, and ends with the numbers when it reads `done`.
const COUNTER: &str = "\
    int=0; trap 'int=$((int+1)); echo int $int' INT
    trap 'echo usr1' USR1; trap 'echo usr2' USR2; trap 'echo term' TERM; trap 'echo hup' HUP
    trap 'echo quit' QUIT; trap 'echo winch' WINCH; trap 'echo alrm' ALRM
    echo ready $$
    while :; do
      line=; read line || [ $? -gt 128 ] || tries=$((tries+1))
      [ \"$line\" = done ] && break; [ ${tries:-0} -gt 99 ] && exit 8
    done
    echo total $int; exit 9";

#[test]
fn signals_sent_to_laptime_reach_the_command_once_each() {
    let folder = folder();
    let mut command = laptime(folder.path());
    command.args(["run", "-q", "--", "sh", "-c", COUNTER]);
    let mut child = Tracked::start(command);
    child.hear("ready");
    for (signal, said) in [
        (libc::SIGINT, "int 1"),
        (libc::SIGTERM, "term"),
        (libc::SIGHUP, "hup"),
        (libc::SIGQUIT, "quit"),
        (libc::SIGUSR2, "usr2"),
        (libc::SIGWINCH, "winch"),
        (libc::SIGALRM, "alrm"),
        (libc::SIGUSR1, "usr1"),
    ] {
        child.signal(signal);
        child.hear(said);
    }
    child.say("done\n");
    child.hear("total 1");
    assert_eq!(child.end().code(), Some(9));
}

#[test]
fn control_c_reaches_the_command_once() {
    let folder = folder();
    let mut command = laptime(folder.path());
    command.args(["run", "--", "sh", "-c", COUNTER]);
    let mut terminal = Terminal::start(command);
    terminal.hear("ready");
    terminal.say("\x03");
    terminal.hear("int 1");
    // Comes after anything laptime might have forwarded before.
    terminal.signal(libc::SIGUSR1);
    terminal.hear("usr1");
    terminal.say("\x1c");
    terminal.hear("quit");
    terminal.say("done\n");
    terminal.hear("total 1");
    terminal.hear("failed");
    assert_eq!(terminal.end().code(), Some(9));
}

#[test]
fn a_signal_to_the_whole_group_reaches_the_command_once_and_one_to_laptime_too() {
    let folder = folder();
    let mut command = laptime(folder.path());
    command.args(["run", "-q", "--", "sh", "-c", COUNTER]).process_group(0);
    let mut child = Tracked::start(command);
    child.hear("ready");
    child.signal_group(libc::SIGINT);
    child.hear("int 1");
    // Comes after anything laptime might have forwarded before.
    child.signal(libc::SIGUSR1);
    child.hear("usr1");
    child.signal(libc::SIGINT);
    child.hear("int 2");
    child.say("done\n");
    child.hear("total 2");
    assert_eq!(child.end().code(), Some(9));
}

#[test]
fn a_command_that_control_c_ends_takes_laptime_with_it() {
    let folder = folder();
    let mut command = laptime(folder.path());
    command.args(["run", "-q", "--", "sh", "-c", "echo ready; read line"]);
    let mut terminal = Terminal::start(command);
    terminal.hear("ready");
    terminal.say("\x03");
    assert_eq!(terminal.end().signal(), Some(libc::SIGINT));
}

#[test]
fn a_stopped_command_stops_laptime_and_both_go_on() {
    let folder = folder();
    let mut command = laptime(folder.path());
    command.args(["run", "-q", "--", "sh", "-c", COUNTER]);
    let mut child = Tracked::start(command);
    let pid = child.hear("ready").trim().parse().unwrap();
    for signal in [libc::SIGSTOP, libc::SIGSTOP] {
        // SAFETY: the shell waits for its line, so the pid is its own.
        unsafe { libc::kill(pid, signal) };
        assert_eq!(child.stopped(), signal);
        child.signal(libc::SIGCONT);
        child.continued();
        // Said only by a command that goes on, too.
        child.signal(libc::SIGUSR1);
        child.hear("usr1");
    }
    child.say("done\n");
    child.hear("total 0");
    assert_eq!(child.end().code(), Some(9));
}

#[test]
fn control_z_and_fg_work_in_a_shell() {
    let folder = folder();
    let script = folder.path().join("counter.sh");
    fs::write(&script, COUNTER).unwrap();
    let mut shell = Command::new("sh");
    shell.arg("-i").current_dir(folder.path()).env("PS1", "").env_remove("ENV");
    let mut terminal = Terminal::start(shell);
    terminal.say(&format!("{LAPTIME} run -q -- sh counter.sh\n"));
    terminal.hear("ready ");
    terminal.say("\x1a");
    // The key throws away what was typed and not read, so the shell must have spoken first.
    terminal.hear("Stopped");
    terminal.say("fg; echo en''ded $?\n");
    terminal.say("done\n");
    terminal.hear("total 0");
    terminal.hear("ended 9");
    terminal.say("exit 0\n");
    terminal.end();
}

#[test]
fn a_daemon_is_left_alone_and_no_zombie_stays() {
    let folder = folder();
    let script = "sleep 60 >/dev/null 2>&1 </dev/null & echo $$ $!";
    let output = run(folder.path(), &["-q"], &["sh", "-c", script]);
    let pids: Vec<i32> = text(&output.stdout).split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert!(!Path::new(&format!("/proc/{}", pids[0])).exists(), "the command was not reaped");
    assert!(Path::new(&format!("/proc/{}", pids[1])).exists(), "the daemon was ended");
    // SAFETY: the daemon sleeps for a minute, so the pid is its own.
    unsafe { libc::kill(pids[1], libc::SIGKILL) };
}

#[test]
fn a_command_survives_the_kill_of_laptime() {
    let folder = folder();
    let mut command = laptime(folder.path());
    command.args(["run", "-q", "--", "sh", "-c", "echo ready; read line; echo still here"]);
    let mut child = Tracked::start(command);
    child.hear("ready");
    child.signal(libc::SIGKILL);
    assert_eq!(child.end().signal(), Some(libc::SIGKILL));
    child.say("go on\n");
    child.hear("still here");
    assert_eq!(report(folder.path())["run"]["status"], "killed");
}

#[test]
fn a_command_that_is_not_there_is_refused_and_nothing_is_written() {
    let folder = folder();
    fs::write(folder.path().join("data"), "1,2").unwrap();
    for (program, code) in
        [("no-such-command", 127), ("./no/such", 127), ("./no.py", 127), ("./data", 126), ("/", 126)]
    {
        let output = run(folder.path(), &[], &[program]);
        assert_eq!(output.status.code(), Some(code), "{program}");
        assert!(text(&output.stderr).starts_with("error: could not run"), "{}", text(&output.stderr));
        assert!(!folder.path().join(".laptime").exists(), "{program}");
    }
    // An interpreter that is missing shows only when the system tries.
    let script = folder.path().join("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = run(folder.path(), &[], &["./script"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(runs(&folder.path().join(".laptime")).is_empty());
}

#[test]
fn a_script_that_cannot_run_itself_is_given_to_python() {
    let folder = folder();
    fs::write(folder.path().join("train.py"), "import sys; print(sys.argv[1:])").unwrap();
    for script in ["train.py", "./train.py"] {
        let output = run(folder.path(), &["-q"], &[script, "--epochs", "3"]);
        assert_eq!(text(&output.stdout), "['--epochs', '3']\n", "{}", text(&output.stderr));
        assert_eq!(report(folder.path())["run"]["name"], "train.py");
    }
    let mut command = laptime(folder.path());
    command.env("LAPTIME_PYTHON", "/bin/echo").args(["run", "-q", "train.py", "a"]);
    assert_eq!(text(&command.output().unwrap().stdout), "train.py a\n");
}

#[test]
fn a_folder_that_cannot_be_made_costs_one_warning_and_nothing_else() {
    let folder = folder();
    let output = run(folder.path(), &["--dir", "/dev/null/runs", "-q"], &["sh", "-c", "echo out; exit 4"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(4), "out\n".to_owned()));
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
    let shown = run(folder.path(), &["--dir", "/dev/null/runs"], &["true"]);
    assert!(text(&shown.stderr).contains("run not kept"), "{}", text(&shown.stderr));
}

#[test]
fn what_is_typed_beats_the_environment_which_beats_the_file() {
    let folder = folder();
    let place = folder.path();
    fs::write(place.join("pyproject.toml"), "[tool.laptime]\ndir = \"file\"\nname = \"f\"\nquiet = true\n")
        .unwrap();
    let go = |options: &[&str], variables: &[(&str, &str)]| {
        let mut command = laptime(place);
        command.arg("run").args(options).args(["--", "true"]).envs(variables.iter().copied());
        text(&command.output().unwrap().stderr)
    };
    assert_eq!(go(&[], &[]), "");
    assert_eq!(runs(&place.join("file")).len(), 1);
    let said = go(&[], &[("LAPTIME_DIR", "env"), ("LAPTIME_NAME", "e"), ("LAPTIME_QUIET", "0")]);
    assert!(said.starts_with("laptime  e  "), "{said}");
    assert_eq!(runs(&place.join("env")).len(), 1);
    let said = go(&["--dir", "typed", "--name", "t"], &[("LAPTIME_DIR", "env"), ("LAPTIME_QUIET", "0")]);
    assert!(said.starts_with("laptime  t  "), "{said}");
    assert_eq!((runs(&place.join("typed")).len(), runs(&place.join("env")).len()), (1, 1));
    assert_eq!(go(&["--dir", "off"], &[("LAPTIME_DISABLED", "1")]), "");
    assert!(!place.join("off").exists());
    assert_eq!(report(place)["run"]["name"], "f");
}

#[test]
fn the_nearest_project_file_counts_also_in_a_folder_below_it() {
    let folder = folder();
    let inner = folder.path().join("src/train");
    fs::create_dir_all(&inner).unwrap();
    fs::write(folder.path().join("pyproject.toml"), "[tool.laptime]\ndir = \"kept\"\nquiet = true\n")
        .unwrap();
    let go = |disabled: &str| {
        let mut command = laptime(&inner);
        command.args(["run", "--", "true"]).env("LAPTIME_DIR", "").env("LAPTIME_DISABLED", disabled);
        text(&command.output().unwrap().stderr)
    };
    assert_eq!(go(""), "");
    assert_eq!(runs(&folder.path().join("kept")).len(), 1);
    assert_eq!(go("off"), "");
    assert_eq!(runs(&folder.path().join("kept")).len(), 2);
    assert_eq!(go("on"), "");
    assert_eq!(runs(&folder.path().join("kept")).len(), 2);
    assert!(!inner.join(".laptime").exists());
}

#[test]
fn the_command_learns_of_its_run_and_its_pythons_of_the_hooks() {
    let folder = folder();
    let script = "echo $LAPTIME_RUN; echo $LAPTIME_BEGAN; echo $LAPTIME_HOOKS; echo $PYTHONPATH; \
                  echo $LAPTIME_PACKAGE; ls ${PYTHONPATH%%:*}";
    let printed = |options: &[&str], variables: &[(&str, &str)]| {
        let mut command = laptime(folder.path());
        command.env("PYTHONPATH", "/known").envs(variables.iter().copied());
        command.args(["run", "-q"]).args(options).args(["--", "sh", "-c", script]);
        text(&command.output().unwrap().stdout)
    };
    let lines = printed(&[], &[]);
    let lines: Vec<&str> = lines.lines().collect();
    let run = Path::new(lines[0]);
    assert!(run.is_absolute() && run.join("run.json").exists(), "{lines:?}");
    assert_eq!(lines[1].split(',').filter(|value| value.parse::<u64>().is_ok()).count(), 4, "{lines:?}");
    let hook = run.join("hook-00000");
    assert_eq!(
        lines[2..],
        ["", &format!("{}:/known", hook.display()), "", "frameworks.txt", "guarded.txt", "sitecustomize.py"]
    );
    // What was there for the command alone is gone with it.
    let mut left: Vec<_> = fs::read_dir(run).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["run.json", "supervisor.000001.ltlog"]);
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/laptime").canonicalize().unwrap();
    let package = package.to_str().unwrap();
    let with_package = printed(&[], &[("LAPTIME_PACKAGE", package)]);
    let lines: Vec<&str> = with_package.lines().collect();
    assert_eq!(lines[2..5], ["", &format!("{package}/_hook:/known"), package]);
    // A package of another version is no use here.
    assert_eq!(printed(&[], &[("LAPTIME_PACKAGE", "/other")]).lines().nth(4), Some(""));
    for (options, variables) in [(&["--no-hooks"][..], &[][..]), (&[], &[("LAPTIME_HOOKS", " Off")])] {
        let lines = printed(options, variables);
        assert_eq!(lines.lines().skip(2).take(2).collect::<Vec<_>>(), ["0", "/known"]);
    }
}

#[test]
fn a_recorder_in_the_command_joins_its_run_and_the_ledger_closes() {
    let folder = folder();
    let words = [LAPTIME, "train", "linear", "--epochs", "20", "--quiet", "--json"];
    let output = run(folder.path(), &["--name", "outer"], &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let kept = runs(&folder.path().join(".laptime"));
    assert_eq!(kept.len(), 1);
    let report = report(folder.path());
    assert_eq!((&report["run"]["name"], &report["run"]["status"]), (&"outer".into(), &"finished".into()));
    assert_eq!(report["epochs"].as_array().unwrap().len(), 20);
    assert_eq!(report["run"]["device"], "cpu");
    let rows = report["ledger"].as_array().unwrap();
    let sum: f64 = rows.iter().map(|row| row["seconds"].as_f64().unwrap()).sum();
    assert!((sum - report["wall_s"].as_f64().unwrap()).abs() < 1e-9);
    let seconds = |stage: &str| {
        rows.iter().find(|row| row["stage"] == stage).and_then(|row| row["seconds"].as_f64()).unwrap_or(0.0)
    };
    assert!(seconds("tear_down") > 0.0 && seconds("start_up") > 0.0);
}

#[test]
fn the_whole_tree_is_measured() {
    let folder = folder();
    let script =
        "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; head -c 40000000 /dev/zero | tail -c 1";
    run(folder.path(), &["-q"], &["sh", "-c", script]);
    let report = report(folder.path());
    assert!(report["memory"]["peak_rss_bytes"].as_u64().unwrap() > 500_000, "{report}");
    let (cpu, wall) = (report["machine"]["cpu_s"].as_f64().unwrap(), report["wall_s"].as_f64().unwrap());
    assert!(cpu > 0.02 && cpu < 4.0 * wall, "{cpu} of {wall}");
    assert_eq!(report["findings"][0]["id"], "nothing_recorded");
}

#[test]
fn the_summary_of_a_plain_command() {
    let folder = folder();
    let output = run(folder.path(), &["--name", "plain"], &["sh", "-c", "echo out; exit 3"]);
    assert_eq!(text(&output.stdout), "out\n");
    let numbers = [
        (r"\d+[\d.,]* (ns|us|ms|s)\b", "TIME"),
        (r"<?\d+[\d.]* %", "N %"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d", "DATE"),
        (r"\d{8}T\d{6}Z-[0-9a-f]{8}", "RUN"),
        (r"\d+ CPUs?", "CPUS"),
        (r" +", " "),
        (r"(machine|memory|data) .*\n( .*\n)*", ""),
        (r"─+", "─"),
    ];
    insta::with_settings!({ filters => numbers.to_vec() }, {
        insta::assert_snapshot!(text(&output.stderr), @r"
        laptime plain failed TIME
        because: ended with exit code 3


        verdict: cannot tell where the time went: the command recorded no stages
        run kept in .laptime/RUN laptime report
        ");
    });
}
