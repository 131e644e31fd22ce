"""Try an installed klsnmf without any extra: run it with an interpreter outside the source tree."""

import subprocess
import sys
import time
from pathlib import Path

import klsnmf
from klsnmf import KLSNMF, datasets
from klsnmf.metrics import scores

package = Path(klsnmf.__file__).resolve().parent
assert package.is_relative_to(Path(sys.prefix).resolve()), f"not the installed package: {package}"
assert (package / "py.typed").is_file(), "py.typed is missing from the wheel"

command = subprocess.run([Path(sys.prefix, "bin", "klsnmf")], capture_output=True, text=True)
assert command.returncode == 1, command
assert "klsnmf[demo]" in command.stderr, command

digits = datasets.load("digits")
X, y = digits.data, digits.target
start = time.perf_counter()
model = KLSNMF(n_clusters=10, random_state=0)
labels = model.fit_predict(X)
seconds = time.perf_counter() - start

assert labels.shape == (1797,)
assert set(labels) == set(range(10))
assert model.W_.shape == model.G_.shape == (1797, 10)
result = scores(y, labels)
assert result["accuracy"] > 0.75, result

shown = ", ".join(f"{name} {value:.3f}" for name, value in result.items())
print(f"klsnmf {klsnmf.__version__} on digits: {shown}; {seconds:.1f} s")
