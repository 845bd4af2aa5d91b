"""Every way in which a script changes files with Python's own means; what it sees is printed."""

import os
import pathlib
import pickle
import shutil
import tempfile

LOOK = pathlib.Path(".")


def tree() -> list[str]:
    return sorted(str(path) for path in LOOK.rglob("*") if path.suffix != ".py")


def failing(call, *arguments) -> None:
    try:
        call(*arguments)
    except OSError as error:
        print(error)


with open("model.pt", "w") as file:
    file.write("written")
    print(file.name)
print(open("model.pt").read(), os.path.getsize("model.pt"))
with open("run.log", "a") as file:
    print(file.tell(), file.write("a line\n"))
print(pathlib.Path("run.log").read_text())
with open("best.pt", "r+") as file:
    file.write("BEST")
print(open("best.pt").read())

os.makedirs("out/deep", exist_ok=True)
with open("out/deep/state.pkl", "wb") as file:
    pickle.dump({"step": 1}, file)
print(pickle.load(open("out/deep/state.pkl", "rb")), tree())

# A checkpoint as it should be written, and the last one kept.
pathlib.Path("tmp").write_text("checkpoint")
os.rename("model.pt", "model.bak")
os.replace("tmp", "model.pt")
print(open("model.pt").read(), open("model.bak").read())
os.rename("old.pt", "older.pt")
with open("older.pt", "a") as file:
    file.write("more")
print(open("older.pt").read(), os.path.islink("older.pt"), os.path.exists("old.pt"))

os.remove("best.pt")
failing(open, "best.pt")
failing(os.remove, "best.pt")
failing(open, "run.log", "x")
failing(open, "nowhere/x", "w")
failing(open, "out", "w")
failing(os.rmdir, "out")
failing(os.rename, "missing", "x")
print(os.path.exists("best.pt"), tree())

# The oldest checkpoint goes, a folder takes another one's place.
shutil.rmtree("runs/1")
os.rename("runs/2", "runs/1")
os.makedirs("runs/3")
shutil.copy2("runs/1/model.pt", "runs/3/model.pt")
shutil.copytree("runs", "all")
shutil.move("all", "out/all")
print(tree(), open("out/all/3/model.pt").read())
os.symlink("model.pt", "latest")
print(open("latest").read())
pathlib.Path("touched").touch()
pathlib.Path("touched").unlink()
file = os.open("raw", os.O_WRONLY | os.O_CREAT)
os.write(file, b"bytes")
os.close(file)
os.truncate("raw", 2)
print(os.stat("raw").st_size, [entry.name for entry in os.scandir("out/all/1")])
print(sorted(os.walk("out")))

with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/x", "w") as file:
        file.write("temporary")
    shutil.move(folder + "/x", "moved")
print(open("moved").read(), os.path.exists(folder), tree())


class Files:
    """A class may have such a function as an attribute, which must not be bound to it."""

    open, remove = open, os.remove


with Files().open("in_class", "w") as file:
    file.write("1")
Files().remove("in_class")
print(pickle.loads(pickle.dumps(os.remove)) is os.remove, open.__name__)
open("best.pt")
