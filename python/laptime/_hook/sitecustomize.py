"""Start-up hook: `laptime run` puts this folder first on PYTHONPATH, so Python runs it before the script.

It imports no framework. It waits for one to be imported and attaches its hooks then; a `sitecustomize` that was
there before still runs. Every Python that the command starts runs this file, whatever its version: it uses only
what Python 2.7 knows too, and where the hooks cannot run it says so to `laptime run` and does nothing else.
"""

import os
import sys

# What the package, which uses the stable interface of this version, can be loaded by.
OLDEST = (3, 11)

# The frameworks: this file lies beside this one, and the variable adds others in the same form.
REGISTRY_FILE = "frameworks.txt"
REGISTRY_VARIABLE = "LAPTIME_FRAMEWORKS"
# What is waited for besides when a script is only tried, and its files must stay as they are.
GUARDED_FILE = "guarded.txt"
PROBE_VARIABLE = "LAPTIME_PROBE"

# Imports are start-up: after this they are the script's work, nanoseconds.
LONGEST_START = 120 * 10**9
# Shorter imports are not worth a line, nanoseconds.
SHORTEST_IMPORT = 10**5
# A script that imports more than this one by one is not starting up.
MOST_IMPORTS = 1000
# A command that starts Pythons for ever must not fill the disk, bytes.
LARGEST_REPORT = 1 << 16

OFF = ("", "0", "false", "no", "off")
CODE = (lambda: None).__code__.co_filename


def is_on(value):
    """Whether a variable's value means yes; the same words as everywhere in laptime."""
    return value.strip().lower() not in OFF


def report(*words):
    """Reports to `laptime run` what became of this Python: one line in a file that it keeps for that."""
    try:
        line = "\t".join([str(os.getpid())] + [" ".join(word.split()) for word in words]) + "\n"
        if not isinstance(line, bytes):
            line = line.encode("utf-8", "surrogateescape")
        # It is not made here: whoever is left when the command has ended leaves nothing behind.
        file = os.open(os.environ["LAPTIME_PYTHONS"], os.O_WRONLY | os.O_APPEND)
        try:
            if os.fstat(file).st_size < LARGEST_REPORT:
                os.write(file, line)
        finally:
            os.close(file)
    except Exception:
        pass


def registry():
    """The modules that attach the hooks of a framework, by the import each waits for."""
    lines = lines_of(REGISTRY_FILE) + os.environ.get(REGISTRY_VARIABLE, "").split(",")
    return modules_by_import(lines)


def guards():
    """The same for what keeps the user's files as they are, where the script is only tried."""
    is_probe = os.environ.get(PROBE_VARIABLE)
    return modules_by_import(lines_of(GUARDED_FILE) if is_probe else [])


def lines_of(name):
    with open(os.path.join(os.path.dirname(CODE), name)) as file:
        return file.read().split("\n")


def modules_by_import(lines):
    known = {}
    for line in lines:
        words = line.split()
        if len(words) == 2 and not line.startswith("#"):
            known.setdefault(words[0], []).append(words[1])
    return known


def misfit():
    """Why the hooks cannot run in this interpreter, in words for the report; `None` where they can."""
    pypy = "pypy" if "__pypy__" in sys.builtin_module_names else "cpython"
    name = getattr(getattr(sys, "implementation", None), "name", pypy)
    version = "%d.%d" % sys.version_info[:2]
    if name != "cpython":
        return "implementation", name
    if sys.version_info[:2] < OLDEST:
        return "old", version
    if "t" in getattr(sys, "abiflags", ""):
        return "free_threaded", version
    return None


def foreign_platform():
    """The platform of this interpreter where it is known not to be the one laptime was built for."""
    from _imp import extension_suffixes

    built_for = os.environ.get("LAPTIME_PLATFORM", "")
    # Such as `.cpython-311-x86_64-linux-gnu.so`.
    own = extension_suffixes()[0].split(".")[1].split("-", 2)[-1]
    return own if built_for and "-linux" in own and own != built_for else None


class Package(object):
    """Finds `laptime` where the script's Python has none: the package that `laptime run` came with.

    It is the last finder, and nothing else of the folder that the package lies in becomes importable.
    """

    laptime = True

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name != "laptime":
            return None
        from _frozen_importlib_external import spec_from_file_location

        init = os.path.join(self.folder, "__init__.py")
        return spec_from_file_location(name, init, submodule_search_locations=[self.folder])


class Watch(object):
    """A finder that finds nothing itself: it sees what is imported, and attaches when a framework was.

    No frame of ours is on the stack while a module is executed, so a traceback is what it is without us: the
    spec is given a class that sees `_initializing` being set, and gets its own back when the import has ended.
    """

    laptime = True

    def __init__(self, package):
        from _thread import get_ident
        from time import perf_counter_ns

        self.package = package
        self.frameworks = registry()
        self.guards = guards()
        self.clock = perf_counter_ns
        self.thread = get_ident
        self.main = get_ident()
        self.began = perf_counter_ns()
        self.timing = True
        # Inside an import: what it imports itself is part of it.
        self.busy = False
        self.imports = []
        # Whether the `laptime` of this process can be used; `None` before it is needed.
        self.usable = None
        self.kinds = {}

    def find_spec(self, name, path=None, target=None):
        framework = self.frameworks.get(name, []) + self.guards.get(name, []) or None
        outermost = self.timing and not self.busy and self.thread() == self.main
        # A module that is loaded again is known already.
        if target is not None or not (framework or outermost or name == "laptime"):
            return None
        began = self.clock()
        self.busy = self.busy or outermost
        find = self.find_laptime if name == "laptime" else self.find_behind
        try:
            spec = find(name, path, target)
        except BaseException as error:
            # Another finder's refusal reads as if Python itself had called it.
            forget_frames(error, CODE)
            raise
        finally:
            self.busy = self.busy and not outermost
        if spec is not None and (framework or outermost or name == "laptime"):
            self.watch(spec, framework, began if outermost else None)
        return spec

    def find_behind(self, name, path, target):
        """What the finders behind this one find."""
        finders = list(sys.meta_path)
        if self not in finders:
            return None
        for finder in finders[finders.index(self) + 1 :]:
            find = getattr(finder, "find_spec", None)
            if find is None:
                # An old kind of finder: Python itself knows how to ask it.
                return None
            spec = find(name, path, target)
            if spec is not None:
                return spec
        return None

    def find_laptime(self, name, path, target):
        """The script's own package when it writes the log that `laptime run` reads, else the one that came with it."""
        spec = self.find_behind(name, path, target)
        if spec is None:
            self.usable = False
            return None
        folder = os.path.dirname(spec.origin or "")
        if self.package is not None and folder == self.package.folder:
            self.usable = True
            return spec
        own, wanted = log_version(folder), os.environ.get("LAPTIME_LOG_VERSION") or None
        self.usable = own is not None and wanted in (None, own)
        if own is None and not os.path.exists(os.path.join(folder, "_session.py")):
            report("name_taken", spec.origin or "")
        elif not self.usable and self.package is not None:
            report("replaced", folder, own or "", wanted or "")
            self.usable = True
            return self.package.find_spec(name)
        elif not self.usable:
            report("log_version", sys.executable or "", own or "", wanted or "")
        return spec

    def watch(self, spec, framework, began):
        """Sees the import of this spec begin and end, if it comes to that."""
        try:
            kind = type(spec)
            spec.__dict__["_laptime"] = (framework, began)
            spec.__class__ = self.kinds.get(kind) or self.kinds.setdefault(kind, self.watched(kind))
        except Exception:
            # A spec of an unusual kind is left alone.
            spec.__dict__.pop("_laptime", None)

    def watched(self, kind):
        watch = self

        def __setattr__(spec, name, value):
            kind.__setattr__(spec, name, value)
            if name == "_initializing":
                guarded(watch.begin if value else watch.end, spec, kind)

        members = {"__slots__": (), "__module__": kind.__module__, "__setattr__": __setattr__}
        return type(kind.__name__, (kind,), members)

    def begin(self, spec, kind):
        framework, began = spec.__dict__["_laptime"]
        self.busy = self.busy or began is not None
        if framework is not None:
            started = self.clock()
            self.arm()
            if began is not None:
                # What we do ourselves is not the framework's.
                spec.__dict__["_laptime"] = (framework, began + self.clock() - started)
        native = self.native()
        if began is not None and native is not None:
            native.import_begins()

    def end(self, spec, kind):
        spec.__class__ = kind
        framework, began = spec.__dict__.pop("_laptime")
        try:
            if began is not None:
                self.note(spec.name, began, self.clock())
            if framework is not None and spec.name in sys.modules:
                for module in framework:
                    self.attach(spec.name, module)
            native = self.native()
            if spec.name == "laptime" and native is not None:
                # Recording may start at any moment from here on, and before it does what was kept must be there.
                self.hand_over(native)
        finally:
            self.busy = self.busy and began is None

    def note(self, name, began, now):
        """Keeps what an import took; what was kept of imports inside it is part of it."""
        while self.imports and self.imports[-1][1] >= began:
            self.imports.pop()
        if now - began >= SHORTEST_IMPORT:
            self.imports.append((name, began, now))
        starting = now - self.began < LONGEST_START and len(self.imports) < MOST_IMPORTS
        self.timing = self.timing and starting
        native = self.native()
        if native is not None:
            self.hand_over(native)

    def native(self):
        """The recorder's functions, once they are loaded and the ones that are wanted here."""
        return sys.modules.get("laptime._native") if self.usable else None

    def hand_over(self, native):
        """Gives the recorder what was kept; it says when a fit has begun and no more is wanted."""
        imports, self.imports = self.imports, []
        for one in imports:
            self.timing = native.imported(*one) and self.timing

    def arm(self):
        """Recording begins with the first thing worth recording, and counts from here at the latest."""
        try:
            from laptime import _native, _session

            if self.usable is not False:
                _session.ensure_armed()
                self.hand_over(_native)
        except Exception as error:
            if self.usable:
                report("broken", sys.executable or "", "%s: %s" % (type(error).__name__, error))
            self.usable = False

    def attach(self, imported, module):
        if self.usable is False:
            return
        from importlib import import_module

        name = imported.split(".")[0]
        try:
            import_module(module).attach()
        except Exception as error:
            from laptime import _native

            _native.trouble(name, "%s: %s" % (type(error).__name__, error))
        if module in self.frameworks.get(imported, ()):
            report("attached", name)


def forget_frames(error, *files):
    """Takes the outermost frames of an error's traceback away as long as they are of these files."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(files):
        trace = trace.tb_next
    error.__traceback__ = trace


def guarded(body, *arguments):
    """Calls something of ours inside the script's import, which matters more."""
    try:
        return body(*arguments)
    except Exception:
        return None
    except BaseException as error:
        # An interrupt that comes just now was meant for the script.
        error.__traceback__ = None
        raise


def log_version(folder):
    """The version of the log that the package in a folder writes; `None` where it says none or is not whole."""
    from _imp import extension_suffixes

    try:
        if not any(
            os.path.exists(os.path.join(folder, "_native" + end)) for end in extension_suffixes()
        ):
            return None
        with open(os.path.join(folder, "_log_version")) as file:
            return file.read().strip() or None
    except (IOError, OSError, ValueError):
        return None


def guard_files():
    """Keeps the user's files as they are, where the script is only tried."""
    if not os.environ.get(PROBE_VARIABLE):
        return
    try:
        from laptime import _probe

        _probe.attach()
    except Exception as error:
        report("unguarded", sys.executable or "", "%s: %s" % (type(error).__name__, error))


def install():
    """Puts the finders in their places, and says to `laptime run` that this Python has them."""
    cannot = misfit()
    if cannot is not None:
        return report("misfit", sys.executable or "", *cannot)
    folder = os.environ.get("LAPTIME_PACKAGE") or None
    foreign = foreign_platform() if folder else None
    package = Package(folder) if folder and not foreign else None
    if package is not None:
        sys.meta_path.append(package)
    if is_on(os.environ.get("LAPTIME_DISABLED", "")) or not is_on(
        os.environ.get("LAPTIME_HOOKS", "1")
    ):
        guard_files()
        return None
    watch = Watch(package)
    sys.meta_path.insert(0, watch)
    # What this imports is no import of the script's.
    watch.busy = True
    guard_files()
    watch.busy = False
    report("ready", sys.executable or "")
    if package is None:
        from _frozen_importlib_external import PathFinder

        if PathFinder.find_spec("laptime") is None:
            report("no_package", sys.executable or "", foreign or "")
    return None


def is_installed():
    """Whether this file ran before in this process, as when the script itself imports `sitecustomize`."""
    return any(getattr(finder, "laptime", None) is True for finder in sys.meta_path)


def folders_behind():
    """Where Python would look for a `sitecustomize` behind this one."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.abspath(path or ".") for path in sys.path]
    return sys.path[places.index(here) + 1 :] if here in places else []


def run_the_other():
    """Runs the `sitecustomize` that this one hides, under its own name; without one it is as if there were none."""
    if sys.version_info[0] < 3:
        import imp

        found = imp.find_module("sitecustomize", folders_behind())
        return imp.load_module("sitecustomize", *found)
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec("sitecustomize", folders_behind())
    if spec is None or spec.loader is None:
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    try:
        return spec.loader.exec_module(module)
    except BaseException as error:
        forget_frames(error, CODE, "<frozen importlib")
        raise


try:
    if not is_installed():
        install()
except Exception:  # Whatever it is, the script goes first.
    pass
try:
    run_the_other()
except BaseException as failure:
    if sys.version_info[0] > 2:
        forget_frames(failure, CODE)
    raise
