r"""A file is read as its makers read it, or refused with one sentence."""

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from labml_nn.pretrained.checkpoint import TYPES, read_file, read_folder, write_file
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

INDEX = "model.safetensors.index.json"


def from_safetensors() -> float:
    r"""How far the numbers of each type are from those of the makers' reader, both ways."""
    written = tensors()
    with TemporaryDirectory() as folder:
        mine, theirs = Path(folder, "mine.safetensors"), Path(folder, "theirs.safetensors")
        write_file(mine, written)
        save_file(written, theirs)
        # Each of us reads what the other has written.
        read = [read_file(theirs), load_file(mine)]
        assert all(found.keys() == written.keys() for found in read)
        assert all(
            found[name].dtype == one.dtype for found in read for name, one in written.items()
        )
        # As numbers of double precision: bytes have no negative difference. While the files are
        # there: they are mapped.
        expected = [one.double() for one in written.values()]
        return max(largest([found[name].double() for name in written], expected) for found in read)


def tensors() -> dict[str, Tensor]:
    r"""One of each type, a number and two without any; an odd number of bytes comes first."""
    found = {"odd": torch.randint(256, (3,), dtype=torch.uint8)}
    for name, dtype in TYPES.items():
        found[name] = (100 * torch.randn(5, 2, 3)).to(dtype)
    empty = {"none": torch.zeros(0, 7), "end": torch.zeros(0, dtype=torch.int8)}
    return found | empty | {"one": torch.tensor(2.5)}


ORACLES = {"safetensors": from_safetensors}
test_it_reads_and_writes_as_its_makers_do = equals(ORACLES)


def equal(mine: dict[str, Tensor], theirs: dict[str, Tensor]) -> bool:
    r"""Names, types, shapes and numbers."""
    assert mine.keys() == theirs.keys()
    assert all(mine[name].dtype == theirs[name].dtype for name in theirs)
    return all(torch.equal(mine[name], theirs[name]) for name in theirs)


def raw(path: Path, header: object, numbers: bytes = b"") -> Path:
    r"""A file with this header, which may be text."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + numbers)
    return path


def entry(start: object, end: object, shape: object = (2,), dtype: object = "F32") -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def test_what_they_write_we_read_and_what_we_write_they_read(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file(tensors(), path, metadata={"format": "pt"})
    assert equal(read_file(path), load_file(path))
    # A matrix that was turned is written as it looks.
    expected = tensors() | {"turned": torch.arange(6).view(2, 3).t()}
    write_file(path, expected)
    assert equal(load_file(path), expected)
    assert equal(read_file(path), expected)
    with safe_open(path, "pt") as file:
        assert len(file.keys()) == len(expected)
    assert int.from_bytes(path.read_bytes()[:8], "little") % 8 == 0
    write_file(path, {})
    assert read_file(path) == {}


def test_the_file_is_mapped_and_writing_to_a_tensor_leaves_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_file(path, {"a": torch.zeros(4), "b": torch.zeros(4)})
    before = path.read_bytes()
    found = read_file(path)
    assert found["a"].untyped_storage().data_ptr() == found["b"].untyped_storage().data_ptr()
    found["a"].fill_(1)
    assert path.read_bytes() == before


@pytest.mark.parametrize("spaces", range(4))
def test_numbers_may_begin_at_any_byte(tmp_path: Path, spaces: int) -> None:
    header = {"a": entry(0, 8), "b": entry(8, 9, [1], "U8"), "c": entry(9, 13, [1])}
    text = json.dumps(header).encode() + b" " * spaces
    numbers = bytes([0, 0, 128, 63, 0, 0, 0, 64, 7, 0, 0, 128, 64])
    path = raw(tmp_path / "odd.safetensors", text, numbers)
    found = {name: tensor.tolist() for name, tensor in read_file(path).items()}
    assert found == {"a": [1, 2], "b": [7], "c": [4]}


BAD = {
    "no header": (b"", "has 8 bytes|the header of .* is wrong"),
    "no JSON": (b"{", "the header of bad.safetensors is wrong: JSONDecodeError"),
    "no UTF-8": (b"\xff", "the header of bad.safetensors is wrong: UnicodeDecodeError"),
    "a list": ([1], "the header of bad.safetensors is wrong: AttributeError|TypeError"),
    "too deep": (b"[" * 100_000, "the header of bad.safetensors is wrong: RecursionError"),
    "no entry": ({"a": 1}, "the header of bad.safetensors is wrong: TypeError"),
    "no offsets": ({"a": {"dtype": "F32", "shape": []}}, "KeyError"),
    "a type of nobody": ({"a": entry(0, 8, dtype="F31")}, "KeyError"),
    "a list as type": ({"a": entry(0, 8, dtype=[])}, "TypeError"),
    "three offsets": ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4, 8]}}, "ValueE"),
    "half a byte": ({"a": entry(0, 8.0)}, "TypeError"),
    "half a byte before": ({"a": entry(0.0, 8)}, "TypeError"),
    "half a row": ({"a": entry(0, 8, [2.0])}, "TypeError"),
    "a shape that is a number": ({"a": entry(0, 8, 2)}, "TypeError"),
    "too few bytes": ({"a": entry(0, 8, [3])}, "a in .* bytes 0 to 8; they should be 12, from 0"),
    "below zero": ({"a": entry(-8, 0)}, "has bytes -8 to 0; they should be 8, from 0"),
    "a shape below zero": ({"a": entry(0, 8, [-1, -2])}, r"torch.float32 \[-1, -2\]"),
    "a gap": ({"a": entry(0, 4, [1]), "b": entry(8, 12, [1])}, "b in .* from 4 on"),
    "an overlap": ({"a": entry(0, 8), "b": entry(4, 12)}, "b in .* should be 8, from 8 on"),
    "the same bytes twice": ({"a": entry(0, 8), "b": entry(0, 8)}, "b in .* from 8 on"),
    "a name twice": (b'{"a":%s,"a":%s}' % ((json.dumps(entry(0, 4, [1])).encode(),) * 2), "14"),
    "too much": ({"a": entry(0, 4, [1])}, r"has \d+ bytes, and its header says \d+$"),
    "too little": ({"a": entry(0, 16, [4])}, r"has \d+ bytes, and its header says \d+$"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_by_both_and_with_one_sentence_by_us(
    tmp_path: Path, name: str
) -> None:
    header, sentence = BAD[name]
    numbers = bytes(14 if name == "a name twice" else 8)
    path = raw(tmp_path / "bad.safetensors", header, numbers)
    with pytest.raises(ValueError, match=sentence) as error:
        read_file(path)
    assert "\n" not in str(error.value)
    with pytest.raises(SafetensorError):
        load_file(path)


def test_of_a_name_that_comes_twice_at_one_place_the_second_is_read(tmp_path: Path) -> None:
    both = [json.dumps(entry(0, 8, [size], dtype)) for size, dtype in ((8, "U8"), (2, "F32"))]
    path = raw(tmp_path / "twice.safetensors", '{{"a":{},"a":{}}}'.format(*both).encode(), bytes(8))
    assert read_file(path)["a"].dtype == torch.float32


@pytest.mark.parametrize("size", [0, 7, 8, 9, 60])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut.safetensors"
    write_file(path, {"a": torch.zeros(3)})
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=f"^cut.safetensors has {size} bytes, and its header"):
        read_file(path)


def sharded(folder: Path, shards: dict[str, dict[str, Tensor]], **moved: str) -> Path:
    r"""A folder with an index that is right but for what has `moved`."""
    places = {}
    for shard, some in shards.items():
        write_file(folder / shard, some)
        places |= dict.fromkeys(some, shard)
    index = {"metadata": {}, "weight_map": places | moved}
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")
    return folder


SHARDS = {"one.safetensors": {"a": torch.ones(2)}, "two.safetensors": {"b": torch.zeros(3)}}


def test_shards_are_read_together_and_a_single_file_comes_first(tmp_path: Path) -> None:
    folder = sharded(tmp_path, SHARDS)
    assert equal(read_folder(folder), {"a": torch.ones(2), "b": torch.zeros(3)})
    write_file(folder / "model.safetensors", {"c": torch.ones(1)})
    assert equal(read_folder(folder), {"c": torch.ones(1)})


@pytest.mark.parametrize(
    ("moved", "sentence"),
    [
        ({"c": "three.safetensors"}, f"{INDEX} names 'three.safetensors', which is no file of"),
        ({"c": "../out.safetensors"}, f"{INDEX} names '../out.safetensors', which is no file of"),
        ({"c": "sub/in.safetensors"}, f"{INDEX} names 'sub/in.safetensors', which is no file of"),
        ({"c": ".."}, f"{INDEX} names '..', which is no file of"),
        ({"c": "one.safetensors"}, f"one.safetensors and {INDEX} don't agree about ['c']"),
        ({"a": "two.safetensors"}, f"two.safetensors and {INDEX} don't agree about ['a']"),
    ],
)
def test_an_index_that_lies_is_refused(
    tmp_path: Path, moved: dict[str, str], sentence: str
) -> None:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    for place in (tmp_path / "out.safetensors", folder / "sub/in.safetensors"):
        write_file(place, {"c": torch.ones(1)})
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read_folder(sharded(folder, SHARDS, **moved))


def test_a_tensor_that_no_index_names_is_refused(tmp_path: Path) -> None:
    folder = sharded(tmp_path, SHARDS)
    write_file(folder / "two.safetensors", {"b": torch.zeros(3), "d": torch.zeros(1)})
    with pytest.raises(ValueError, match=r"don't agree about \['d'\]"):
        read_folder(folder)


def test_a_folder_with_a_pickle_alone_is_refused_and_the_pickle_never_opened(
    tmp_path: Path,
) -> None:
    (tmp_path / "pytorch_model.bin").symlink_to("/nowhere")
    with pytest.raises(ValueError, match=f"has neither model.safetensors nor {INDEX}"):
        read_folder(tmp_path)
