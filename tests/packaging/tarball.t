#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The tarball: the same bytes twice, its checksums and list of parts true, and from an empty root folder without a network,
# libraries or a shell every program runs and a generated stall is explained; so does a real one where BPF works.
. tests/tap.sh

quietly() { make --no-print-directory INSTALL=no BUILD="$BUILD" "$@" >"$TMP/log" 2>&1 || { cat "$TMP/log"; return 1; }; }
grep -q '^STATIC_LIBS := .' "$BUILD/features.mk" || skip_all "nothing can be linked statically here"
ok "make tarball" quietly tarball
tarball=$(tail -n 1 "$TMP/log")
first=$(sha256sum <"$tarball")
ok "and again" quietly tarball
is "$(sha256sum <"$tarball")" "$first" "gives the same bytes"
ok "whose checksum is beside it" sh -c "cd '${tarball%/*}' && sha256sum -c --quiet '${tarball##*/}.sha256'"
began=$EPOCHREALTIME
tar -x -f "$tarball" -C "$TMP"
root=$(echo "$TMP"/ingero-*)
ok "every file has its checksum" sh -c "cd '$root' && sha256sum -c --quiet SHA256SUMS"
is "$(cd "$root" && find . -type f ! -name SHA256SUMS | wc -l)" "$(wc -l <"$root/SHA256SUMS")" "and none is without"
# shellcheck disable=SC2016
is "$(python3 - "$root" <<'EOF'
import hashlib, json, os, sys
root = sys.argv[1]
parts = json.load(open(f"{root}/ingero.spdx.json"))
told = {f["fileName"]: f["checksums"][0]["checksumValue"] for f in parts["files"]}
there = {"./" + os.path.relpath(os.path.join(d, f), root) for d, _, fs in os.walk(root) for f in fs
         if not os.path.islink(os.path.join(d, f))} - {"./SHA256SUMS", "./ingero.spdx.json"}
print(parts["spdxVersion"], sorted(there ^ set(told)))
print([f for f, sum in told.items() if hashlib.sha256(open(root + "/" + f, "rb").read()).hexdigest() != sum])
ids = [x["SPDXID"] for x in parts["packages"] + parts["files"]]
print(len(ids) == len(set(ids)), [r for r in parts["relationships"] if r["relatedSpdxElement"] not in ids])
libraries = [f for f in told if f.startswith("./lib/") and ".so" in f]
of = {r["spdxElementId"] for r in parts["relationships"] if r["relationshipType"] == "GENERATED_FROM"}
byname = {f["fileName"]: f["SPDXID"] for f in parts["files"]}
print([f for f in libraries if byname[f] not in of])
EOF
)" "SPDX-2.3 []
[]
True []
[]" "the list of parts: each file, each library with its package"
for p in "$BIN"/*; do
	p=${p##*/}
	ok "$p: manual" test -s "$root/share/doc/html/$p.1.html" -a -s "$root/share/doc/text/$p.1.txt" -a -s "$root/share/man/man1/$p.1"
done

# away COMMAND...: with nothing but the tarball and /proc, and no network
mkdir -p "$root/proc" "$root/sys" "$root/tmp"
chroot=$(PATH=$PATH:/usr/sbin:/sbin command -v chroot)
export chroot
away() {
	unshare -mn sh -c 'mount --bind /proc "$1/proc" && mount --rbind /sys "$1/sys" && root=$1 && shift && exec env -i PATH=/bin HOME=/tmp "$chroot" "$root" "$@"' sh "$root" "$@"
}
if ! away /bin/ingero --version >/dev/null 2>&1 && ! unshare -mn true 2>/dev/null; then
	skip "an empty root folder" "optional: no namespaces can be made here"
	done_testing
fi
for p in "$BIN"/*; do
	p=${p##*/}
	like "$(away "/bin/$p" --version 2>&1)" "^$p [0-9]" "$p runs from an empty root folder"
done
ok "a stall is generated there" away /bin/ingero demo incident -o /tmp/run.ige
like "$(away /bin/ingero explain /tmp/run.ige)" 'HIGH cpu-preempted' "and explained"
echo "# from the packed tarball to the verdict: $(echo "$EPOCHREALTIME - $began" | bc 2>/dev/null) s, start of every program among them"
ok "as a bundle, too" away /bin/ingero-merge -o /tmp/run.igb /tmp/run.ige
if [ -e "$BUILD/double/train" ] && "$BIN/ingero-record" -q -o "$TMP/trial.ige" -- true 2>/dev/null; then
	like "$(away /bin/ingero-check)" 'each attached and fired' "it finds probes to work there"
	LD_LIBRARY_PATH=$BUILD/double "$BUILD/double/train" --cpu 0 --seconds 60 >/dev/null 2>&1 &
	target=$!
	ok "it records what runs outside" away /bin/ingero-record -q -p $target --duration 2s -o /tmp/real.ige
	kill $target
	wait $target 2>/dev/null
	like "$(away /bin/ingero stat /tmp/real.ige)" 'cudaLaunchKernel' "whose calls are in it"
else
	skip "recording" "optional: BPF does not work here"
fi
done_testing
