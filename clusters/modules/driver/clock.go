package main

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// moment is a time of CLOCK_MONOTONIC in nanoseconds, the clock of Python's time.monotonic(). 0 means never.
type moment int64

func now() moment {
	var read unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &read) // this clock always exists
	return moment(read.Nano())
}

func after(seconds float64) moment {
	return now() + span(seconds)
}

func span(seconds float64) moment {
	return moment(seconds * float64(time.Second))
}

func (m moment) seconds() float64 {
	return float64(m) / float64(time.Second)
}

// String gives seconds with microseconds; nothing for never.
func (m moment) String() string {
	if m == 0 {
		return ""
	}
	return strconv.FormatFloat(m.seconds(), 'f', 6, 64)
}

// sleepUntil returns early only when the context is over. It uses the kernel's timer, because Go's timers are late by up
// to a millisecond in an idle process.
func sleepUntil(ctx context.Context, end moment) {
	const slice = moment(50 * time.Millisecond)
	for ctx.Err() == nil {
		remaining := end - now()
		if remaining <= 0 {
			return
		}
		until := unix.NsecToTimespec(int64(end - remaining + min(remaining, slice)))
		// Interrupted or not, the next turn looks at the clock.
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil)
	}
}
