# shellcheck shell=bash disable=SC2034
# Debian packages of each step, and how they get onto the machine. Sourced by build, test and demo.
build_packages=(g++ cmake ninja-build pkg-config
  libinsighttoolkit5-dev libtorch-dev libgloo-dev libopenslide-dev
  libjpeg62-turbo-dev libopenjp2-7-dev libdeflate-dev libwebp-dev libzstd-dev zlib1g-dev
  liblcms2-dev libhwy-dev nlohmann-json3-dev)
test_packages=(ccache libgtest-dev libtiff-dev clang-format
  python3 python3-venv ca-certificates python3-pytest python3-numpy python3-tifffile python3-openslide python3-pil python3-h5py python3-skimage libvips-tools
  openmpi-bin iproute2)
fuzz_packages=(clang libclang-rt-dev)
# CMake, Ninja and everything of ITK and PyTorch come from PyPI then, the codecs from Debian's source packages.
wheel_packages=(g++ make nasm dpkg-dev pkg-config python3-dev python3-venv ca-certificates xz-utils
  libopenslide-dev zlib1g-dev nlohmann-json3-dev)

# Slicer's logic comes from PyPI and draws with Mesa; a browser looks at what it draws.
slicer_packages=(python3-venv ca-certificates libgl1 libegl1 libgl1-mesa-dri chromium)
docs_packages=(doxygen python3-venv ca-certificates)
# The viewer, and the virtual screen on which it is tested.
viewer_packages=(libvtk9-dev xvfb xdotool)

# need <package>...: installs those that are missing, or prints the one command that does and ends.
need() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -q '^installed$' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local root=()
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      root=(sudo)
    else
      echo "Missing Debian packages. Install them as root, then start this command again:" >&2
      echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
  fi
  echo "== Installing ${#missing[@]} Debian packages: ${missing[*]}"
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# debian_sources: the lists of sources, as apt writes them, beside those of packages that this machine uses of Debian.
debian_sources() {
  apt-get indextargets 'Created-By: Packages' 'Origin: Debian' \
    --format 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) $(COMPONENT)'
}

# use_apt_lists <folder> <lines>: apt-get then knows these lists alone, kept in that folder; the machine's are left as they are.
# Lists of a mirror that lags behind go as well: they are signed, and what is fetched has a version.
use_apt_lists() {
  mkdir -p "$1/lists/partial" "$1/archives/partial"
  echo "$2" >"$1/sources.list"
  cat >"$1/apt.conf" <<EOF
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::Lists "$1/lists";
Dir::Cache "$1";
Acquire::Check-Valid-Until "false";
EOF
  export APT_CONFIG=$1/apt.conf
  apt-get -qq update
}

# need_space <folder> <GB>: ends where a download would only find out that the disk is full.
need_space() {
  local free
  free=$(df --output=avail -B1G "$1" | tail -n 1)
  [ "$free" -ge "$2" ] && return
  echo "$1 has ${free// /} GB free and $2 GB are needed: free some, or name another folder with GIGAPIXEL_CACHE." >&2
  exit 1
}

# Where ccache is installed, what was compiled before is not compiled again, in another clone or another build either:
# the wheel and ITK's builds have folders as deep as build/, so that files have the same places seen from there.
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache}
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache}
  export CCACHE_BASEDIR=${CCACHE_BASEDIR-$PWD} # files below it are told by their places in it
fi
