"""What `laptime pack` runs in worker processes: Python datasets, functions over chunks, and tables by pyarrow.

Stands alone: it is given to any Python as text, and needs NumPy. Frames go both ways, over what were standard input and
output: the length of a header (32 bits), the header as JSON, and the bytes that it announces. The first is the task.
"""

import importlib.util
import json
import os
import signal
import struct
import sys
import traceback

# Samples that are looked at to learn what a dataset has; a column whose lengths differ among them is a sequence.
_LOOKED_AT = 64

# Bytes of a block, about.
_BLOCK_BYTES = 2 << 20


class Unfit(Exception):
    """What the user gave cannot be packed; the text says why."""


class Channel:
    """The frames to and from laptime."""

    def __init__(self):
        # What the user's code prints goes to standard error, and it finds nothing to read.
        self._in = os.fdopen(os.dup(0), "rb")
        self._out = os.fdopen(os.dup(1), "wb")
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(2, 1)
        # A worker is killed when it is not needed any more: nothing may wait in a buffer until then.
        sys.stdout.reconfigure(line_buffering=True)

    def receive(self):
        """The next request and its bytes; None when laptime has gone away."""
        length = self._in.read(4)
        if len(length) < 4:
            return None
        header = json.loads(self._in.read(struct.unpack("<I", length)[0]))
        return header, self._in.read(header.get("bytes", 0))

    def send(self, header, buffers=()):
        header = dict(header, bytes=sum(len(buffer) for buffer in buffers))
        text = json.dumps(header).encode()
        self._out.write(struct.pack("<I", len(text)))
        self._out.write(text)
        for buffer in buffers:
            self._out.write(buffer)
        self._out.flush()


def load(spec):
    """The object that `file.py:name` names."""
    path, _, name = spec.rpartition(":")
    if not os.path.isfile(path):
        raise Unfit(f"no such file: {path}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    # The file's own name, so that what it defines can be pickled.
    module_name = os.path.splitext(os.path.basename(path))[0]
    module_spec = importlib.util.spec_from_file_location(module_name, path)
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_name] = module
    module_spec.loader.exec_module(module)
    found = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = [known for known in vars(module) if not known.startswith("_")]
            raise Unfit(f"{path} has no `{name}`; it has {', '.join(known) or 'nothing'}")
        found = getattr(found, part)
    return found


def as_columns(sample):
    """A sample as a dict of columns."""
    if isinstance(sample, dict):
        return {str(name): value for name, value in sample.items()}
    if isinstance(sample, (tuple, list)):
        names = (
            ["x", "y"] if len(sample) == 2 else [f"column_{place}" for place in range(len(sample))]
        )
        return dict(zip(names, sample))
    return {"x": sample}


def as_value(value, name):
    """A value of a column as bytes or as a NumPy array."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    array = numpy.asarray(value)
    if array.dtype.kind not in "biuf" or array.dtype.name not in _ELEMENTS:
        raise Unfit(
            f"column `{name}` has a {type(value).__name__} ({array.dtype}), which cannot be packed"
        )
    return array


_ELEMENTS = {"bool"} | {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
_ELEMENTS |= {"float16", "float32", "float64"}


def column_of(name, values):
    """What a column is, by some of its values."""
    if all(isinstance(value, bytes) for value in values):
        return {"name": name, "kind": "bytes"}
    if any(isinstance(value, bytes) for value in values):
        raise Unfit(f"column `{name}` mixes bytes and numbers")
    dtype = numpy.result_type(*(value.dtype for value in values)).name
    shapes = {value.shape for value in values}
    if len(shapes) == 1:
        return {"name": name, "kind": "fixed", "element": dtype, "shape": list(shapes.pop())}
    if all(value.ndim == 1 for value in values):
        return {"name": name, "kind": "ragged", "element": dtype}
    shown = " and ".join(str(shape) for shape in sorted(shapes)[:2])
    raise Unfit(
        f"column `{name}` has arrays of different shapes, such as {shown}; only sequences may differ in length"
    )


def values_of(sample, columns):
    """The values of a sample in the order of the columns."""
    found = as_columns(sample)
    names = [column["name"] for column in columns]
    if list(found) != names and set(found) != set(names):
        raise Unfit(f"it has {', '.join(found)} where the first one has {', '.join(names)}")
    return [fitted(as_value(found[column["name"]], column["name"]), column) for column in columns]


def fitted(value, column):
    """A value as its column needs it."""
    if column["kind"] == "bytes":
        if not isinstance(value, bytes):
            raise Unfit(
                f"column `{column['name']}` has a number where the first samples have bytes"
            )
        return value
    if isinstance(value, bytes):
        raise Unfit(f"column `{column['name']}` has bytes where the first samples have numbers")
    if column["kind"] == "ragged" and value.ndim != 1:
        raise Unfit(
            f"column `{column['name']}` has the shape {value.shape} where sequences are expected"
        )
    if column["kind"] == "fixed" and list(value.shape) != column["shape"]:
        first = tuple(column["shape"])
        raise Unfit(
            f"column `{column['name']}` has the shape {value.shape} where the first samples have {first}"
        )
    return cast(value, column)


def cast(array, column):
    """The same numbers as the column's element; a number is refused rather than changed."""
    name, element = column["name"], column["element"]
    if not numpy.can_cast(array.dtype, element, "same_kind"):
        raise Unfit(f"column `{name}` is {array.dtype} where the first samples are {element}")
    with numpy.errstate(over="ignore"):
        same = array.astype(little(element), copy=False)
    if not numpy.can_cast(array.dtype, element, "safe") and not numpy.array_equal(
        same, array, equal_nan=array.dtype.kind == "f"
    ):
        raise Unfit(
            f"column `{name}` is {array.dtype} here, which {element}, as the first samples are, cannot hold"
        )
    return same


def little(element):
    return numpy.dtype(element).newbyteorder("<")


def raw(array):
    """The bytes of an array; a memoryview cannot be made of none."""
    return memoryview(numpy.ascontiguousarray(array)).cast("B") if array.size else b""


def packed(rows, columns):
    """The buffers of a block: for each column of varying length where its rows end, then the rows."""
    buffers = []
    for place, column in enumerate(columns):
        values = [row[place] for row in rows]
        if column["kind"] != "fixed":
            ends = numpy.cumsum([len(value) for value in values], dtype="<u8")
            buffers.append(raw(ends))
        if column["kind"] == "bytes":
            buffers.append(b"".join(values))
        elif column["kind"] == "ragged":
            buffers.append(raw(numpy.concatenate(values)))
        else:
            buffers.append(raw(numpy.stack(values)))
    return buffers


def row_bytes(columns, rows):
    sizes = [
        sum(len(value) if isinstance(value, bytes) else value.nbytes for value in row)
        for row in rows
    ]
    return max(1, sum(sizes) // max(1, len(sizes)))


class Dataset:
    """A dataset that is asked for samples by their index, or one that is gone through once."""

    def __init__(self, task):
        self.dataset = load(task["spec"])
        if isinstance(self.dataset, type) or (
            callable(self.dataset) and not hasattr(self.dataset, "__getitem__")
        ):
            self.dataset = self.dataset()
        self.length = None
        # PyTorch's have a __getitem__ that only raises, and often a length.
        is_stream = any(kind.__name__ == "IterableDataset" for kind in type(self.dataset).__mro__)
        if (
            not is_stream
            and hasattr(self.dataset, "__getitem__")
            and hasattr(self.dataset, "__len__")
        ):
            self.length = len(self.dataset)
        elif not hasattr(self.dataset, "__iter__"):
            raise Unfit(f"`{task['spec']}` has neither __len__ and __getitem__, nor __iter__")
        self.columns = task.get("columns")
        self.next = 0
        self.waiting = []
        self.iterator = None

    def open(self):
        first = [self._looked_at(index, sample) for index, sample in self._first()]
        if not first:
            raise Unfit("the dataset has no samples")
        names = list(first[0])
        self.columns = [
            column_of(name, [sample[name] for sample in first if name in sample]) for name in names
        ]
        rows = [[sample[name] for name in names] for sample in first if set(sample) == set(names)]
        self.block_rows = max(1, _BLOCK_BYTES // row_bytes(self.columns, rows))
        return {"columns": self.columns, "rows": self.length, "block_rows": self.block_rows}

    def _looked_at(self, index, sample):
        try:
            return {name: as_value(value, name) for name, value in as_columns(sample).items()}
        except Unfit as error:
            raise Unfit(f"sample {index}: {error}") from None

    def _first(self):
        if self.length is None:
            try:
                while len(self.waiting) < _LOOKED_AT:
                    self.waiting.append(self._next(len(self.waiting)))
            except StopIteration:
                pass
            return list(enumerate(self.waiting))
        # Spread over the dataset, so that lengths which only differ later are seen.
        count = min(_LOOKED_AT, self.length)
        places = [place * self.length // count for place in range(count)]
        return [(place, self._get(place)) for place in places]

    def _next(self, index):
        if self.iterator is None:
            self.iterator = iter(self.dataset)
        try:
            return next(self.iterator)
        except StopIteration:
            raise
        except Exception as error:
            raise Sample(index) from error

    def _go_on_to(self, index):
        """A sample of a stream: a worker that is asked for later ones passes over those before."""
        while self.next <= index:
            sample = self.waiting.pop(0) if self.waiting else self._next(self.next)
            self.next += 1
        return sample

    def _get(self, index):
        try:
            return self.dataset[index]
        except Exception as error:
            raise Sample(index) from error

    def block(self, request, _):
        start, stop = request["start"], request["stop"]
        rows = []
        for index in range(start, stop):
            try:
                sample = self._go_on_to(index) if self.length is None else self._get(index)
            except StopIteration:
                break
            try:
                rows.append(values_of(sample, self.columns))
            except Unfit as error:
                raise Unfit(f"sample {index}: {error}") from None
        return {"rows": len(rows)}, packed(rows, self.columns) if rows else []


class Sample(Exception):
    """The user's code raised on a sample."""

    def __init__(self, index):
        super().__init__(f"sample {index}")


class Mapped:
    """A function over chunks of another source."""

    def __init__(self, task):
        self.function = load(task["spec"])
        if not callable(self.function):
            raise Unfit(f"`{task['spec']}` is not a function")
        self.inner = task["inner"]
        self.columns = task.get("columns")

    def open(self):
        return {}

    def block(self, request, data):
        chunk = self._chunk(request, data)
        result = as_columns(self.function(*chunk))
        arrays = {name: as_batch(name, value) for name, value in result.items()}
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1:
            raise Unfit(
                f"the function returned columns of {' and '.join(map(str, sorted(lengths)))} rows"
            )
        if self.columns is None:
            self.columns = [batch_column(name, array) for name, array in arrays.items()]
        rows = lengths.pop()
        header = {"rows": rows, "columns": self.columns}
        if set(arrays) != {column["name"] for column in self.columns}:
            raise Unfit(
                f"the function returned {', '.join(arrays)} where it first returned other columns"
            )
        buffers = []
        for column in self.columns:
            array = arrays[column["name"]]
            if column["kind"] == "ragged" and not isinstance(array, list) and array.ndim == 2:
                # Sequences that happen to be of the same length.
                array = list(array)
            if rows == 0:
                continue
            if isinstance(array, list):
                buffers += packed([[fitted(value, column)] for value in array], [column])
            else:
                if list(array.shape[1:]) != column.get("shape") or column["kind"] != "fixed":
                    raise Unfit(
                        f"column `{column['name']}` has rows of the shape {array.shape[1:]}, and first had others"
                    )
                buffers.append(raw(cast(array, column)))
        return header, buffers

    def _chunk(self, request, data):
        """One argument a column: an array, or a list of bytes or of arrays of varying length."""
        rows, at, chunk = request["rows"], 0, []
        view = memoryview(data)
        for column, length in zip(self.inner, request["lengths"]):
            if column["kind"] == "fixed":
                part = numpy.frombuffer(view[at : at + length], dtype=little(column["element"]))
                chunk.append(part.reshape([rows, *column["shape"]]).copy())
                at += length
                continue
            ends = numpy.frombuffer(view[at : at + 8 * rows], dtype="<u8")
            at += 8 * rows
            body = view[at : at + length]
            at += length
            starts = numpy.concatenate([[0], ends[:-1]]).astype("<u8")
            if column["kind"] == "bytes":
                chunk.append([bytes(body[a:b]) for a, b in zip(starts.tolist(), ends.tolist())])
            else:
                values = numpy.frombuffer(body, dtype=little(column["element"]))
                chunk.append([values[a:b].copy() for a, b in zip(starts.tolist(), ends.tolist())])
        return chunk


def as_batch(name, value):
    """What a function returned for a column: an array of rows, or a list of rows."""
    if isinstance(value, (list, tuple)):
        rows = [as_value(row, name) for row in value]
        if rows and all(
            isinstance(row, numpy.ndarray) and row.shape == rows[0].shape for row in rows
        ):
            return numpy.stack(rows)
        return rows
    array = as_value(value, name)
    if isinstance(array, bytes) or array.ndim == 0:
        raise Unfit(
            f"the function returned a single value for column `{name}`, where rows are expected"
        )
    return array


def batch_column(name, array):
    if isinstance(array, list):
        if not array:
            raise Unfit(
                f"the function left out all rows of the first chunk, so that column `{name}` could be anything; "
                "return an empty array for it"
            )
        return column_of(name, array)
    return {
        "name": name,
        "kind": "fixed",
        "element": array.dtype.name,
        "shape": list(array.shape[1:]),
    }


class Table:
    """Parquet or Arrow files, read by pyarrow: a block is a row group or a record batch."""

    def __init__(self, task):
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise Unfit(
                "pyarrow is not installed, which reads Parquet and Arrow files: pip install pyarrow"
            ) from None
        self.pyarrow = pyarrow
        self.files = task["files"]
        self.target = task.get("target")
        self.allow_nan = task.get("allow_nan", False)
        self.element = task.get("target_element", "float32")
        self.columns = task.get("columns")
        self.opened = {}
        self.schema = self._schema()
        numeric = [self._is_number(field.type) for field in self.schema]
        # Plain numbers in all columns are features and a target, as in a CSV file.
        self.is_matrix = all(numeric) and len(numeric) > 1
        if self.target not in self.schema.names and (self.target or "").isdecimal():
            place = int(self.target) - 1
            if 0 <= place < len(self.schema.names):
                self.target = self.schema.names[place]
        if self.target is not None and self.target not in self.schema.names:
            raise Unfit(
                f"there is no column `{self.target}`; its columns are {', '.join(self.schema.names[:12])}"
            )
        if self.is_matrix and self.target is None:
            self.target = self.schema.names[-1]
        if self.target is None and self.element == "int64":
            raise Unfit("--target-type needs a target, and which column it is only --target says")

    def _is_number(self, kind):
        types = self.pyarrow.types
        return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)

    def _open(self, place):
        if place not in self.opened:
            self.opened = {}
            path = self.files[place]
            try:
                if path.lower().endswith((".parquet", ".pq")):
                    self.opened[place] = self.pyarrow.parquet.ParquetFile(path)
                else:
                    self.opened[place] = self._open_arrow(path)
            except (OSError, ValueError) as error:
                raise Unfit(f"{error}: {path}") from None
        return self.opened[place]

    def _open_arrow(self, path):
        source = self.pyarrow.memory_map(path)
        try:
            reader = self.pyarrow.ipc.open_file(source)
            return ArrowFile(reader.schema, reader.num_record_batches, reader.get_batch)
        except self.pyarrow.ArrowInvalid:
            reader = self.pyarrow.ipc.open_stream(source)
            batches = list(reader)
            return ArrowFile(reader.schema, len(batches), batches.__getitem__)

    def _schema(self):
        opened = self._open(0)
        return opened.schema_arrow if hasattr(opened, "schema_arrow") else opened.schema

    def open(self):
        blocks, counts = [], []
        for place in range(len(self.files)):
            opened = self._open(place)
            found = opened.schema_arrow if hasattr(opened, "schema_arrow") else opened.schema
            if found.names != self.schema.names or found.types != self.schema.types:
                raise Unfit(f"{self.files[place]} has other columns than {self.files[0]}")
            groups = (
                opened.num_row_groups if hasattr(opened, "num_row_groups") else opened.num_batches
            )
            for group in range(groups):
                rows = (
                    opened.metadata.row_group(group).num_rows
                    if hasattr(opened, "metadata")
                    else opened.batch(group).num_rows
                )
                blocks.append([place, group])
                counts.append(rows)
        self.blocks = blocks
        columns = (
            self._matrix_columns()
            if self.is_matrix
            else [self._column(field) for field in self.schema]
        )
        if self.target is not None and not self.is_matrix:
            columns.sort(key=lambda column: column["name"] == self.target)
        self.columns = columns
        return {"columns": columns, "rows": sum(counts), "counts": counts}

    def _matrix_columns(self):
        names = [name for name in self.schema.names if name != self.target]
        return [
            {
                "name": "x",
                "kind": "fixed",
                "element": "float32",
                "shape": [len(names)],
                "names": names,
            },
            {"name": "y", "kind": "fixed", "element": self.element, "shape": []},
        ]

    def _column(self, field):
        types, kind = self.pyarrow.types, field.type
        if isinstance(kind, self.pyarrow.ExtensionType):
            kind = kind.storage_type
        if types.is_struct(kind) and "bytes" in [part.name for part in kind]:
            # An image or a sound as Hugging Face stores it.
            return {"name": field.name, "kind": "bytes"}
        if any(
            is_kind(kind)
            for is_kind in (
                types.is_binary,
                types.is_large_binary,
                types.is_string,
                types.is_large_string,
            )
        ):
            return {"name": field.name, "kind": "bytes"}
        if self._is_number(kind):
            as_class = field.name == self.target and self.element == "int64"
            element = "int64" if as_class else element_of(kind)
            return {"name": field.name, "kind": "fixed", "element": element, "shape": []}
        if types.is_fixed_size_list(kind) and self._is_number(kind.value_type):
            return {
                "name": field.name,
                "kind": "fixed",
                "element": element_of(kind.value_type),
                "shape": [kind.list_size],
            }
        if (types.is_list(kind) or types.is_large_list(kind)) and self._is_number(kind.value_type):
            return {"name": field.name, "kind": "ragged", "element": element_of(kind.value_type)}
        raise Unfit(
            f"column `{field.name}` is of the type {field.type}, which cannot be packed; leave it out"
        )

    def block(self, request, _):
        if not hasattr(self, "blocks"):
            columns = self.columns
            self.open()
            self.columns = columns
        place, group = self.blocks[request["block"]]
        opened = self._open(place)
        if hasattr(opened, "read_row_group"):
            table = opened.read_row_group(group)
        else:
            table = self.pyarrow.Table.from_batches([opened.batch(group)])
        if table.num_rows == 0:
            return {"rows": 0}, []
        where = f"{self.files[place]}, block {group}"
        buffers = self._matrix(table, where) if self.is_matrix else self._each(table, where)
        return {"rows": table.num_rows}, buffers

    def _numbers(self, table, name, element, where):
        column = table.column(name).combine_chunks()
        is_float = element.startswith("float")
        if column.null_count and not (self.allow_nan and is_float and name != self.target):
            raise Unfit(f"column `{name}` has {column.null_count} missing values: {where}")
        array = column.to_numpy(zero_copy_only=False)
        # What is too large becomes infinite, which is asked about below.
        with numpy.errstate(over="ignore", invalid="ignore"):
            array = (
                numpy.asarray(array, dtype=numpy.dtype(element))
                if self._casts(array, element)
                else None
            )
        if array is None:
            raise Unfit(f"column `{name}` cannot be kept as {element} without loss: {where}")
        if is_float:
            may_miss = self.allow_nan and name != self.target
            fine = ~numpy.isinf(array) if may_miss else numpy.isfinite(array)
            if not fine.all():
                row = int(numpy.argmin(fine))
                raise Unfit(
                    f"column `{name}` is not a finite {element} number in row {row}: {where}"
                )
        return array

    def _casts(self, array, element):
        return (
            element.startswith("float")
            or not array.size
            or bool((array.astype(element) == array).all())
        )

    def _matrix(self, table, where):
        names = [name for name in self.schema.names if name != self.target]
        features = numpy.empty((table.num_rows, len(names)), dtype="<f4")
        for place, name in enumerate(names):
            features[:, place] = self._numbers(table, name, "float32", where)
        target = self._numbers(table, self.target, self.element, where).astype(little(self.element))
        return [memoryview(features).cast("B"), memoryview(target).cast("B")]

    def _each(self, table, where):
        buffers = []
        for column in self.columns:
            name = column["name"]
            if column["kind"] == "fixed" and not column["shape"]:
                array = self._numbers(table, name, column["element"], where).astype(
                    little(column["element"])
                )
                buffers.append(memoryview(array).cast("B"))
                continue
            values = table.column(name).to_pylist()
            if any(value is None for value in values) or (
                column["kind"] != "bytes" and any(None in value for value in values)
            ):
                raise Unfit(f"column `{name}` has missing values: {where}")
            if column["kind"] == "bytes":
                values = [
                    value.get("bytes") if isinstance(value, dict) else value for value in values
                ]
                if any(value is None for value in values):
                    raise Unfit(
                        f"column `{name}` names files instead of holding their bytes: {where}"
                    )
                values = [value.encode() if isinstance(value, str) else value for value in values]
            else:
                values = [numpy.asarray(value, dtype=column["element"]) for value in values]
            buffers += packed([[fitted(value, column)] for value in values], [column])
        return buffers


def element_of(kind):
    return numpy.dtype(kind.to_pandas_dtype()).name


class ArrowFile:
    """The record batches of an Arrow file or stream; those of a file are read, and unpacked, when they are asked for."""

    def __init__(self, schema, num_batches, batch):
        self.schema = schema
        self.num_batches = num_batches
        self.batch = batch


_TASKS = {"dataset": Dataset, "map": Mapped, "table": Table}


def explained(error):
    """What laptime is told of an exception."""
    if isinstance(error, Unfit):
        return {"error": str(error), "traceback": []}
    where = ""
    if isinstance(error, Sample):
        where, error = f"{error}: ", error.__cause__
    # Only the user's own frames say anything; this file is text that was given to Python.
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != "<string>" and not frame.filename.startswith("<frozen ")
    ]
    lines = [
        f"{frame.filename}:{frame.lineno}, in {frame.name}: {frame.line}" for frame in frames[-3:]
    ]
    text = str(error).strip().split("\n")[0]
    return {"error": f"{where}{type(error).__name__}: {text}".rstrip(": "), "traceback": lines}


def end_with_laptime():
    """Has the system kill this process when laptime is killed, whatever the user's code does then."""
    set_parent_death_signal = 1
    try:
        import ctypes

        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):
        # A worker without work then ends as soon as it asks for some.
        pass


def main():
    # Ctrl-C is for laptime, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_laptime()
    channel = Channel()
    if (first := channel.receive()) is None:
        return
    task, _ = first
    try:
        try:
            global numpy
            import numpy
        except ImportError:
            raise Unfit(f"NumPy is not installed for {sys.executable}: pip install numpy") from None
        worker = _TASKS[task["task"]](task)
        channel.send(worker.open() if task.get("columns") is None else {})
        while (request := channel.receive()) is not None:
            channel.send(*worker.block(*request))
    except BrokenPipeError:
        pass
    except Exception as error:
        channel.send(explained(error))


if __name__ == "__main__":
    main()
