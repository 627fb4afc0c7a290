"""Recipes for package managers: they have this version, options that CMake knows, and the packages that CPack makes."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
SPACK = PACKAGING / "spack/packages/headrace/package.py"
EASYBUILD = sorted((PACKAGING / "easybuild").glob("*.eb"))
DEBIAN = PACKAGING / "debian"
FILES = [ROOT / "CMakeLists.txt", *ROOT.glob("harness/**/*.cmake"), PACKAGING / "packages.cmake"]
CMAKE = "\n".join(file.read_text() for file in FILES)
VERSION = re.search(r"^project\(headrace VERSION (\S+)", CMAKE, re.M)[1]
OPTION = re.compile(r"-D([A-Za-z]\w+)|\"([A-Z]+_\w+)\"")  # in shell, in Python


def options(text):
    """Those that a recipe sets, without CMake's own and an environment variable."""
    return {"".join(groups) for groups in OPTION.findall(text)} - {"CMAKE_BUILD_TYPE", "HEADRACE_PYTHON"}


def unknown(names, cmake):
    """Names that no option(), set(... CACHE) or find_...() of CMake has."""
    known = set(re.findall(r"(?:option|find_path|find_library|find_program)\((\w+)", cmake))
    known |= set(re.findall(r"set\((\w+) [^)]*CACHE", cmake))
    known |= {f"CMAKE_DISABLE_FIND_PACKAGE_{name}" for name in re.findall(r"find_package\((\w+)", cmake)}
    return sorted(set(names) - known)


@pytest.mark.parametrize("recipe", [SPACK, *EASYBUILD, DEBIAN / "rules"], ids=lambda file: file.name)
def test_recipes_set_only_options_of_cmake(recipe):
    names = options(recipe.read_text())
    assert {"HEADRACE_TESTS", "LIBURING_LIBRARY"} <= names and not unknown(names, CMAKE), unknown(names, CMAKE)
    for name in names:  # renamed, it is reported
        wanted = name.removeprefix("CMAKE_DISABLE_FIND_PACKAGE_")
        assert unknown(names, re.sub(rf"\b{wanted}\b", "RENAMED", CMAKE)) == [name]


def test_recipes_have_the_version_of_cmake():
    assert f'version("{VERSION}", tag="v{VERSION}")' in SPACK.read_text()
    assert EASYBUILD and all(file.name.startswith(f"headrace-{VERSION}-foss-") for file in EASYBUILD)
    assert all(f"\nversion = '{VERSION}'\n" in file.read_text() for file in EASYBUILD)
    assert (DEBIAN / "changelog").read_text().startswith(f"headrace ({VERSION}) ")


def test_the_recipe_with_cuda_differs_by_cuda_alone():
    plain, cuda = (file.read_text() for file in reversed(EASYBUILD))
    kept = [line for line in cuda.splitlines() if not re.search("CUDA|NCCL|cudaver", line)]
    assert "('CUDA'," in cuda and "('NCCL'," in cuda and "DISABLE_FIND_PACKAGE_CUDAToolkit" not in cuda
    assert [line.replace("'cuda', ", "").replace("'nccl', ", "") for line in kept] == [
        line for line in plain.splitlines() if "CUDA" not in line]


def test_debian_has_the_packages_of_cpack():
    control = (DEBIAN / "control").read_text()
    described = dict(re.findall(r"\nPackage: (\S+)\n(?:.+\n)*?Description: .*\n((?: .*\n?)+)", control))
    assert set(described) == set(re.findall(r"CPACK_DEBIAN_\w+_PACKAGE_NAME (\S+)\)", CMAKE))
    for component, text in re.findall(r"CPACK_COMPONENT_(\w+)_DESCRIPTION\n([^)]*)\)", CMAKE):
        package = "headrace" if component == "HEADRACE" else f"headrace-{component.lower()}"
        same = "".join(re.findall(r'"([^"]*)"', text)).replace("\\n", "\n")
        assert "\n".join(line[1:] for line in described[package].splitlines()) == same, package
    assert re.search(r"PACKAGE_RECOMMENDS \"(.*)\"", CMAKE)[1] == re.search(r"Recommends: (.*)", control)[1]


def test_debian_builds_with_the_libraries_of_other_builds():
    listed = re.search(r"^build_packages=\((.*?)^\)", (ROOT / "tools/lib.sh").read_text(), re.M | re.S)[1]
    needed = set(re.findall(r'^  "([^|]+)\|', listed, re.M)) - {"g++"}  # of build-essential
    assert not needed - set(re.split(r"[,\s]+", (DEBIAN / "control").read_text()))
