// The driver over pgx without Lydite and its protocol: each session of the recorded inputs in a loop of its own, for some
// seconds. `loop INPUTS SESSIONS SECONDS CONNECTION` prints completed transactions per second.
package main

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"lydite.dev/benches/drivers/inputs"
	lydite "lydite.dev/driver"
	"lydite.dev/driver/examples/pgx/postgres"
)

// Before what is counted, as in the script's runs of Lydite.
const warmUp = 2 * time.Second

// How often a transaction is sent at most, and its longest waits before it is sent again: as in Lydite.
const (
	attempts = 20
	shortest = 500 * time.Microsecond
	longest  = 50 * time.Millisecond
)

func play(session *postgres.Session, transaction inputs.Transaction) error {
	wait := shortest
	for attempt := 1; ; attempt++ {
		err := once(session, transaction)
		var aborted *lydite.Aborted
		var rolledBack *lydite.RolledBack
		if err == nil || errors.As(err, &rolledBack) {
			return nil
		}
		session.Rollback()
		if !errors.As(err, &aborted) || attempt == attempts {
			return err
		}
		time.Sleep(time.Duration(rand.Int63n(int64(wait))))
		if wait *= 2; wait > longest {
			wait = longest
		}
	}
}

func once(session *postgres.Session, transaction inputs.Transaction) error {
	var err error
	switch transaction := transaction.(type) {
	case lydite.NewOrder:
		_, err = session.NewOrder(transaction)
	case lydite.Payment:
		_, err = session.Payment(transaction)
	case lydite.OrderStatus:
		_, err = session.OrderStatus(transaction)
	case lydite.Delivery:
		_, err = session.Delivery(transaction)
	case lydite.StockLevel:
		_, err = session.StockLevel(transaction)
	default:
		err = fmt.Errorf("a %T is no transaction", transaction)
	}
	return err
}

func run(directory, connection string, sessions int, seconds time.Duration) (float64, error) {
	loops, all := make([]*postgres.Session, sessions), make([][]inputs.Transaction, sessions)
	for number := range loops {
		var err error
		if loops[number], err = postgres.Open(connection); err != nil {
			return 0, err
		}
		defer loops[number].Close()
		if all[number], err = inputs.Read(directory, number); err != nil {
			return 0, err
		}
	}
	counts, failures := make([]int, sessions), make([]error, sessions)
	begins := time.Now().Add(warmUp)
	ends := begins.Add(seconds)
	var wait sync.WaitGroup
	for number := range loops {
		wait.Add(1)
		go func(number int) {
			defer wait.Done()
			for _, transaction := range all[number] {
				if failures[number] = play(loops[number], transaction); failures[number] != nil {
					return
				}
				// As in Lydite, what is answered in the window counts.
				switch now := time.Now(); {
				case now.After(ends):
					return
				case now.After(begins):
					counts[number]++
				}
			}
			failures[number] = fmt.Errorf("session %d has played all of its %d inputs: record more", number, len(all[number]))
		}(number)
	}
	wait.Wait()
	sum := 0
	for number, count := range counts {
		if failures[number] != nil {
			return 0, failures[number]
		}
		sum += count
	}
	return float64(sum) / seconds.Seconds(), nil
}

func main() {
	tps, err := 0.0, fmt.Errorf("usage: loop INPUTS SESSIONS SECONDS CONNECTION")
	if len(os.Args) > 4 {
		sessions, wrong := strconv.Atoi(os.Args[2])
		seconds, wrongToo := strconv.Atoi(os.Args[3])
		if wrong == nil && wrongToo == nil && sessions > 0 {
			tps, err = run(os.Args[1], strings.Join(os.Args[4:], " "), sessions, time.Duration(seconds)*time.Second)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%.1f\n", tps)
}
