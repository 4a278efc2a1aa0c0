#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: devices.sh WHERE [apart|together|both|reset|full|late|each|names|shown]...
# Tests heddled with two devices. WHERE is a build folder or the output of ./run dist.
#   apart     a low-priority program runs on the second device, and a high-priority one on the
#             first: no launch is preempted or held, ps lists both devices, results are right
#   together  both run on the second device: the low-priority program is preempted, its result is
#             right
#   both      a program on both devices is a tenant on each. On each, it is preempted by the
#             high-priority program there, and by none on the other device. Its results are right
#   reset     as both, but the program resets its second device after each launch there
#   full      heddled has room for one tenant: the program is served on one device, runs natively on
#             the other, and is told why
#   late      a program on both devices starts before heddled: it becomes a tenant on both, and
#             again when heddled is killed and restarted
#   each      there is a heddled for each device: each lists the program only with its own device
#   names     ps distinguishes two devices with the same name (only on the virtual GPU)
#   shown     the devices that --device and CUDA_VISIBLE_DEVICES show a program, and the values that
#             are refused
# Without a case, runs all. DEVICE in the environment: cpu (default) is the virtual GPU; cuda is
# this machine's GPUs.
set -eu
where=$1
shift
[ $# -gt 0 ] || set -- apart together both reset full late each names shown
heddle=$where/bin/heddle examples=$where/lib/heddle/examples
[ -x "$heddle" ] || heddle=$where/heddle examples=$where/examples
heddled=$(dirname "$heddle")/heddled device=${DEVICE:-cpu}
for part in "$heddled" "$heddle" "$examples/devices" "$examples/tick" "$examples/mm"; do
	[ -x "$part" ] || {
		echo "skipped: no $part"
		exit 77
	}
done
both="devices-$$,devices=2"
export HEDDLE_VGPU="$both"
# The first two of this machine's GPUs, or of the visible ones.
visible=0,1
[ "$device" = cpu ] || visible=$(echo "${CUDA_VISIBLE_DEVICES:-0,1}" | cut -d , -f 1,2)
export CUDA_VISIBLE_DEVICES="$visible"
if [ "$device" = cuda ]; then
	said=$("$heddle" run --device cuda:1 -- true 2>&1) || {
		echo "skipped: no two NVIDIA GPUs: $said"
		exit 77
	}
fi
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
kind=$device
# On a GPU, the kernels run long enough to be managed. On the virtual GPU they are short, because
# all their work is CPU time; there min_managed_us is 1.
small='--size small --scale 0.3' much='--size large --scale 0.2' long='--loops 30' managed=1
if [ "$kind" = cuda ]; then
	# shellcheck disable=SC2154
	small=$large much=$large long='--loops 20000' managed=4000
fi
# A short kernel, launched so often that each launch of another program meets one.
ticks='--every-us 3000 --rounds 10 --count 10000000'

stop() {
	# shellcheck disable=SC2086
	kill $pids 2>/dev/null || :
	for pid in $pids; do wait "$pid" || :; done
	pids=
	kill "$daemon"
	wait "$daemon" || fail "heddled: $?"
	daemon=
	rm -f "$dir/events"
}

# Prints how many disturbers have joined. heddled writes its events when it is idle.
count_ticks() {
	grep '"event": "join"' "$dir/events" | grep -c '"name": "tick"' || :
}

has_more_ticks() { # THAN
	[ "$(count_ticks)" -gt "$1" ]
}

# tick_on NUMBER: starts the disturber, a high-priority program, on this device.
tick_on() {
	device=$kind:$1
	before=$(count_ticks)
	# shellcheck disable=SC2086
	run high "tick$1" tick $ticks
	pids="$pids $started"
	await 60 grep -q ready "$dir/tick$1.out" || fail "the disturber of device $1 does not begin"
	await 60 has_more_ticks "$before" || fail "the disturber of device $1 does not join"
}

# mm_on NUMBER SIZE...: starts the low-priority program, which runs until it is told to end, and
# waits until it is a tenant with launches.
mm_on() {
	device=$kind:$1
	shift
	run low low mm "$@" --until "$dir/low.end"
	low=$started
	await 60 grep -q '"round":1,' "$dir/low.out" || fail "the low program does not begin"
}

# From the event log: the number of the last tenant with this name, and its device.
tenant_of() {
	sed -n "s/.*\"event\": \"join\", \"tenant\": \([0-9]*\),.*\"name\": \"$1\".*/\1/p" "$dir/events" | tail -n 1
}

device_of() {
	sed -n "s/.*\"event\": \"join\".*\"name\": \"$1\".*\"device\": \"\([^\"]*\)\".*/\1/p" "$dir/events" |
		tail -n 1
}

# tenant_on NAME DEVICE: prints the number of the tenant with this name on this device.
tenant_on() {
	sed -n "s/.*\"event\": \"join\", \"tenant\": \([0-9]*\),.*\"name\": \"$1\".*\"device\": \"$2\".*/\1/p" "$dir/events"
}

# tenant_told NUMBER EVENTS LEAST: succeeds if the log has at least LEAST of these events for the
# tenant.
tenant_told() {
	[ "$(grep -Ec "\"event\": \"($2)\", \"tenant\": $1," "$dir/events")" -ge "$3" ]
}

# told_on DEVICE EVENTS LEAST: as tenant_told, for the program "devices" on this device.
told_on() {
	tenant_told "$(tenant_on devices "$1")" "$2" "$3"
}

# told NAME EVENTS LEAST: as tenant_told, for the last tenant with this name.
told() {
	tenant_told "$(tenant_of "$1")" "$2" "$3"
}

begins() { # OPTION...
	start_daemon --set min_managed_us=$managed "$@"
	pids=
}

apart() {
	begins
	tick_on 0
	# shellcheck disable=SC2086
	mm_on 1 $small
	await 60 grep -q '"round":20,' "$dir/low.out" || fail "the low program does not go on"
	"$heddle" ps >"$dir/ps"
	[ "$(grep '^on ' "$dir/ps" | sort -u | wc -l)" = 2 ] || fail "ps does not list two devices: $(cat "$dir/ps")"
	[ "$(device_of tick)" != "$(device_of mm)" ] || fail "both programs are on $(device_of mm)"
	ends low "$low" "on a device of its own"
	low=
	! told mm 'preempt|shrink|hold|wait|bound' 1 || fail "the low program was disturbed from the other device:
$(grep -E '"(preempt|shrink|hold|wait|bound)"' "$dir/events" | head -n 3)"
	stop
	launches=$(sed -n 's/.*"count":\([0-9]*\).*/\1/p' "$dir/tick0.out")
	[ "${launches:-0}" -ge 20 ] || fail "the high program made ${launches:-no} launches"
	echo "apart: two tenants on two devices, and neither disturbs the other"
}

together() {
	begins
	# shellcheck disable=SC2086
	mm_on 1 $much
	tick_on 1
	await 60 told mm 'preempt|shrink' 3 || fail "the low program is not preempted"
	[ "$(device_of tick)" = "$(device_of mm)" ] || fail "--device $kind:1 means two devices"
	ends low "$low" "on one device with the high one"
	low=
	stop
	echo "together: two tenants on one device, the low one is preempted and right"
}

# Devices with the same name, like GPUs of one model: ps distinguishes them by their UUIDs. (Two
# virtual GPUs with one device each.)
names() {
	begins
	device=cpu
	for which in one two; do
		export HEDDLE_VGPU="$which-$$" CUDA_VISIBLE_DEVICES=0
		# shellcheck disable=SC2086
		run normal "$which" devices $long --until "$dir/$which.end"
		pids="$pids $started"
	done
	export HEDDLE_VGPU="$both" CUDA_VISIBLE_DEVICES="$visible"
	await 60 told_twice join devices || fail "two programs do not become tenants"
	"$heddle" ps >"$dir/ps"
	[ "$(grep '^on heddle virtual GPU (GPU-.*)$' "$dir/ps" | sort -u | wc -l)" = 2 ] ||
		fail "ps does not tell two devices of one name apart: $(cat "$dir/ps")"
	for which in one two; do : >"$dir/$which.end"; done
	for pid in $pids; do wait "$pid" || fail "a program: $?"; done
	pids=
	stop
	echo "names: ps tells two devices of one name apart"
}

told_twice() {
	[ "$(grep "\"event\": \"$1\"" "$dir/events" | grep -c "\"name\": \"$2\"")" = 2 ]
}

# devices_begin OPTION...: starts a program on both devices, with a high-priority program on the
# first. Its tenants are $here on the first device and $there on the second.
devices_begin() {
	begins
	device=$kind
	# shellcheck disable=SC2086
	run low low devices $long --until "$dir/low.end" "$@"
	low=$started
	await 60 grep -q 'ready, devices: 2' "$dir/low.out" || fail "the program does not see two devices"
	tick_on 0
	await 60 told_twice join devices || fail "the program is not a tenant on both devices"
	first=$(device_of tick)
	here=$(tenant_on devices "$first")
	there=$(grep '"event": "join"' "$dir/events" | grep '"name": "devices"' | grep -v "\"device\": \"$first\"" |
		sed 's/.*"tenant": \([0-9]*\),.*/\1/')
	if [ -z "$here" ] || [ -z "$there" ]; then fail "no two tenants on two devices: $here, $there"; fi
}

# is_preempted NUMBER WHERE: waits until this tenant is preempted three more times.
is_preempted() {
	before=$(grep -Ec "\"event\": \"(preempt|shrink)\", \"tenant\": $1," "$dir/events" || :)
	await 60 tenant_told "$1" 'preempt|shrink' $((before + 3)) || fail "the program is not preempted on $2"
}

devices_end() {
	"$heddle" ps --json >"$dir/ps"
	[ "$(grep -c '"name": "devices"' "$dir/ps")" -ge 2 ] || fail "ps does not list the program on both devices: $(cat "$dir/ps")"
	! grep -E '"reason": "(device|context|unknown|unseen|channel)"' "$dir/ps" || fail "launches are not managed, see above"
	ends low "$low" "on both devices"
	low=
	told_twice join devices || fail "the program was more than two tenants"
	stop
}

# A program is a tenant on each device where it launches, and shares each with other programs.
both() {
	devices_begin
	is_preempted "$here" "the first device"
	! tenant_told "$there" 'preempt|shrink|hold|wait|bound' 1 ||
		fail "the program was disturbed on the second device from the first one"
	tick_on 1
	is_preempted "$there" "the second device"
	is_preempted "$here" "the first device"
	devices_end
	echo "both: a program on two devices is preempted on each by its neighbours there, and right on both"
}

reset() {
	devices_begin --reset 1
	is_preempted "$here" "the first device"
	tick_on 1
	is_preempted "$there" "the second device, which it resets"
	is_preempted "$here" "the first device"
	devices_end
	echo "reset: a program that resets one of two devices is preempted on both, and right"
}

full() {
	mkdir -p "$dir/config/etc/heddle"
	printf '[heddled]\nmax_tenants = 1\n' >"$dir/config/etc/heddle/heddled.conf"
	begins --config-root "$dir/config"
	device=$kind
	# shellcheck disable=SC2086
	run low low devices $long --until "$dir/low.end"
	low=$started
	await 60 grep -q 'device [01]: heddled refused this program: too many tenants' "$dir/low.err" ||
		fail "the program does not say that it is refused: $(cat "$dir/low.err")"
	await 60 has_reason device || fail "ps does not tell of launches for a device that is not served"
	ends low "$low" "on a device that is served and one that is not"
	low=
	stop
	echo "full: a program that is refused on one of two devices is served on the other, and right"
}

has_reason() {
	"$heddle" ps --json >"$dir/ps" && grep -q "\"reason\": \"$1\"" "$dir/ps"
}

late() {
	device=$kind
	# shellcheck disable=SC2086
	run low low devices $long --pause-ms 20 --until "$dir/low.end"
	low=$started
	await 60 grep -q 'heddled does not run' "$dir/low.err" || fail "the program does not say that there is no heddled"
	begins
	await 60 told_twice join devices || fail "the program does not become a tenant on both devices"
	kill -9 "$daemon"
	wait "$daemon" || :
	rm -f "$dir/events"
	begins
	await 60 told_twice join devices || fail "the program does not become a tenant of the next heddled on both devices"
	tick_on 0
	first=$(device_of tick)
	await 60 told_on "$first" 'preempt|shrink' 3 || fail "the program is not preempted on the first device"
	tick_on 1
	second=$(device_of tick)
	[ "$first" != "$second" ] || fail "both disturbers are on $first"
	await 60 told_on "$second" 'preempt|shrink' 3 || fail "the program is not preempted on the second device"
	ends low "$low" "before and after heddled"
	low=
	stop
	echo "late: a program on two devices becomes a tenant on both of each heddled that comes"
}

# lists SOCKET PROGRAM: the program is the only tenant of that heddled.
lists() {
	"$heddle" ps --socket "$1" --json >"$dir/ps"
	grep -q "\"name\": \"$2\"" "$dir/ps" && [ "$(grep -c '"tenant": ' "$dir/ps")" = 1 ]
}

each() {
	begins
	"$heddled" --config-root /nonexistent --socket "$dir/other" 2>"$dir/other.log" &
	other=$!
	pids=$other
	await 60 "$heddle" status --socket "$dir/other" >"$dir/status" || fail "the other heddled does not come up"
	tick_on 0
	first=$HEDDLE_SOCKET
	HEDDLE_SOCKET=$dir/other
	# shellcheck disable=SC2086
	mm_on 1 $small
	HEDDLE_SOCKET=$first
	lists "$first" tick || fail "the heddled of device 0 lists $(cat "$dir/ps")"
	lists "$dir/other" mm || fail "the heddled of device 1 lists $(cat "$dir/ps")"
	ends low "$low" "under a heddled of its own"
	low=
	grep -q ' leaves: mm,.* preempted 0 times' "$dir/other.log" || fail "the low program was preempted"
	stop
	echo "each: a heddled for each device has the programs of that device alone"
}

# refused VALUE LINE: --device VALUE fails with this line, and no program is started.
refused() {
	status=0
	"$heddle" run --device "$1" -- "$examples/devices" >"$dir/refused" 2>&1 || status=$?
	[ "$status" = 2 ] || fail "--device $1 ends with $status"
	grep -Eq "$2" "$dir/refused" || fail "--device $1: $(cat "$dir/refused")"
}

# sees DEVICE: sets $seen to the device that a program started with --device DEVICE sees.
sees() {
	device=$1
	# shellcheck disable=SC2086
	run normal sees devices $long --rounds 1
	wait "$started" || fail "a program on $1: $?"
	grep -q '^ready, devices: 1$' "$dir/sees.out" || fail "--device $1 shows $(cat "$dir/sees.out")"
	await 60 told devices leave 1 || fail "heddled does not tell that the program has ended"
	seen=$(device_of devices)
	[ "$seen" ] || fail "no device is told of a program on $1"
}

shown() {
	begins
	sees "$kind:0"
	zero=$seen
	sees "$kind:1"
	one=$seen
	device=$kind
	# shellcheck disable=SC2086
	run normal only devices $long --rounds 1 --only 1
	wait "$started" || fail "a program that launches on one of two devices: $?"
	await 60 told devices leave 1 || fail "heddled does not tell that the program has ended"
	[ "$(device_of devices)" = "$one" ] || fail "a program that launches on device 1 is a tenant on $(device_of devices)"
	[ "$zero" != "$one" ] || fail "$kind:0 and $kind:1 are both $one"
	export CUDA_VISIBLE_DEVICES="${visible#*,},${visible%%,*}"
	sees "$kind:0"
	[ "$seen" = "$one" ] || fail "$kind:0 of CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES is not device 1"
	sees "$kind:1"
	[ "$seen" = "$zero" ] || fail "$kind:1 of CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES is not device 0"
	export CUDA_VISIBLE_DEVICES="$one"
	sees "$kind:0"
	[ "$seen" = "$one" ] || fail "CUDA_VISIBLE_DEVICES=$one is not device 1"
	refused "$kind:1" "there is 1 such device in CUDA_VISIBLE_DEVICES=$one: $kind:0"
	export CUDA_VISIBLE_DEVICES="$visible"
	refused "$kind:99" "there are 2 such devices in CUDA_VISIBLE_DEVICES=$visible: $kind:0 to $kind:1"
	refused "$kind:" "names no device"
	refused "$kind:x" "names no device"
	refused "$kind:-1" "names no device"
	refused auto:1 "is not one of"
	stop
	echo "shown: --device shows one device, of those that are visible"
}

for case in "$@"; do
	case $case in
	apart | together | both | reset | full | late | each | names | shown) "$case" ;;
	*) fail "no such case: $case" ;;
	esac
done
