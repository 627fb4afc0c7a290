# SPDX-License-Identifier: Apache-2.0
"""headrace for Spack, from the checkout that this recipe is in; see docs/how-to/install.md."""

import os
import pathlib

from spack.package import *


class Headrace(CMakePackage):
    """Measures whether storage, host and network can feed a training job."""

    git = str(pathlib.Path(__file__).resolve().parents[4])

    license("Apache-2.0")
    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpi", default=True, description="Ranks by mpirun or srun, collectives over MPI")
    variant("cuda", default=False, description="GPUs: copies, GPUDirect Storage, burn-in")
    variant("nccl", default=True, when="+cuda", description="Collectives by NCCL")
    variant("rdma", default=True, description="RDMA by verbs")
    variant("s3", default=True, description="Object stores")
    variant("parquet", default=False, description="Decode Parquet")
    variant("report", default=True, description="Report pages")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("gzip", type="build")
    depends_on("benchmark")
    depends_on("yaml-cpp~shared")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("fmt+pic")
    depends_on("zlib-api")
    depends_on("liburing@2.3:")
    depends_on("libjpeg-turbo")
    depends_on("libpng@1.6:")
    depends_on("zstd@1.4:")
    depends_on("mpi@3.1:", when="+mpi")
    depends_on("cuda@12.4:", when="+cuda")
    depends_on("nccl@2.18:", when="+nccl")  # asks for its cuda_arch, too
    depends_on("rdma-core@34:", when="+rdma")
    depends_on("arrow@15:+parquet", when="+parquet")
    with when("+s3"):
        depends_on("curl@7.66:")
        depends_on("openssl@3:")
        depends_on("pugixml")
    with when("+report"):
        depends_on("python@3.9:", type=("build", "run"))
        depends_on("py-matplotlib@3.5:", type=("build", "run"))
        depends_on("py-jinja2@3:", type=("build", "run"))

    conflicts("platform=darwin")
    conflicts("platform=windows")
    conflicts("%gcc@:10", msg="headrace needs C++20")

    sanity_check_is_file = ["bin/headrace", "share/headrace/headrace.tree"]

    def cmake_args(self):
        args = [
            self.define("HEADRACE_TESTS", False),
            self.define("HEADRACE_UNITY", True),
            self.define("LIBURING_LIBRARY", self.spec["liburing"].prefix.lib.join("liburing.so")),
        ]
        # Without its variant, a backend does not take a library of the system.
        found = {
            "mpi": "CMAKE_DISABLE_FIND_PACKAGE_MPI",
            "cuda": "CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit",
            "s3": "CMAKE_DISABLE_FIND_PACKAGE_CURL",
        }
        args += [
            self.define(option, f"+{name}" not in self.spec) for name, option in found.items()
        ]
        headers = {
            "nccl": "NCCL_INCLUDE_DIR",
            "rdma": "IBVERBS_INCLUDE_DIR",
            "parquet": "ARROW_INCLUDE_DIR",
        }
        return args + [
            f"-D{option}=" for name, option in headers.items() if f"+{name}" not in self.spec
        ]

    # headrace starts Python without PYTHONPATH, so this Python knows its folders.
    @run_after("install")
    def python_of_reports(self):
        if "+report" in self.spec:
            python = self.prefix.libexec.python
            self.spec["python"].command("-m", "venv", "--without-pip", python)
            used = self.spec.traverse(root=False, deptype="run")
            places = self.spec["python"].package.purelib, self.spec["python"].package.platlib
            paths = {one.prefix.join(place) for one in used for place in places}
            folder = next(pathlib.Path(python, "lib").glob("python*/site-packages"))
            paths = sorted(path for path in paths if os.path.isdir(path))
            (folder / "headrace.pth").write_text("\n".join(paths))

    def setup_run_environment(self, env):
        if "+report" in self.spec:
            env.set("HEADRACE_PYTHON", self.prefix.libexec.python.bin.python3)

    def test_version(self):
        """the program starts and names its version"""
        said = which(self.prefix.bin.headrace)("--version", output=str.split, error=str.split)
        assert said.startswith("headrace "), said
