// Package lydite is the driver's side of Lydite's driver protocol, with the standard library alone.
//
// A driver is a program that Lydite starts (driver:./demo). It plays the five transactions of TPC-C on a database (Driver),
// or is a key-value store on which Lydite plays them itself (Store):
//
//	func main() { lydite.ServeStore(func() (lydite.Store, error) { return newStore() }) }
//
// Lydite asks for a session by calling the function; all sessions live in one process, each in a goroutine of its own.
// Amounts of money are whole cents, rates whole ten-thousandths, points in time microseconds since 1970: never floats.
// What is printed goes to standard error, which errors of Lydite quote.
package lydite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"
)

const protocol = 1

// Info is what a driver says of itself.
type Info struct {
	Name    string
	Version string
	// Guarantee is "none", "per-key", "atomic", "optimistic" (of two transactions that collide the later is aborted) or
	// "serializable".
	Guarantee string
	// Isolation is the level in the database's own words.
	Isolation string
	// Durable says whether a commit survives the loss of power.
	Durable bool
	// Settings bear on the numbers, and go into the result.
	Settings map[string]string
}

// session serves the requests of one connection.
type session interface {
	info() Info
	handle(what string, with fields, alive func(string) error) (map[string]any, error)
	// failed is called after an error: the transaction is over.
	failed()
	close()
}

// ServeStore serves a key-value store until Lydite goes. open makes a session.
func ServeStore(open func() (Store, error)) {
	serve("key-value", func() (session, error) {
		store, err := open()
		return &storeSession{store: store}, err
	})
}

// ServeDriver serves a driver of transactions until Lydite goes. open makes a session.
func ServeDriver(open func() (Driver, error)) {
	serve("transactions", func() (session, error) {
		driver, err := open()
		return &driverSession{driver: driver}, err
	})
}

func serve(way string, open func() (session, error)) {
	path := os.Getenv("LYDITE_SOCKET")
	if path == "" {
		fmt.Fprintln(os.Stderr, "this is a driver: it is started by Lydite, as in: lydite driver test driver:./this")
		os.Exit(2)
	}
	// Whatever is printed would be no message.
	output := os.Stdout
	os.Stdout = os.Stderr
	listener, err := net.Listen("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		for {
			stream, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				// Too many files are open, perhaps: others will be closed.
				fmt.Fprintln(os.Stderr, "a session can't be accepted:", err)
				time.Sleep(100 * time.Millisecond)
				continue
			}
			go func() {
				defer stream.Close()
				run(way, stream, stream, open)
			}()
		}
	}()
	run(way, os.Stdin, output, open)
}

// run serves one connection to its end.
func run(way string, source io.Reader, sink io.Writer, open func() (session, error)) {
	reader := bufio.NewReaderSize(source, 1<<16)
	var current session
	defer func() {
		if current != nil {
			current.close()
		}
	}()
	var out []byte
	gone := false
	for {
		var head [4]byte
		if _, err := io.ReadFull(reader, head[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(reader, body); err != nil {
			return
		}
		decoder := decoder{data: body}
		message, err := decoder.value()
		request, ok := message.(map[string]any)
		if err != nil || !ok {
			fmt.Fprintln(os.Stderr, "what came from Lydite is no request:", err)
			os.Exit(1)
		}
		id, what, with := request["id"], request["do"].(string), fields{}
		if given, ok := request["with"].(map[string]any); ok {
			with = given
		}
		send := func(name string, value any) error {
			out = append(out[:0], 0, 0, 0, 0)
			var err error
			if out, err = appendValue(out, map[string]any{"id": id, name: value}); err != nil {
				return err
			}
			binary.BigEndian.PutUint32(out, uint32(len(out)-4))
			_, err = sink.Write(out)
			// Lydite has gone, or has given up this session; others of the process go on.
			gone = gone || err != nil
			return err
		}
		answer, err := attempt(func() (map[string]any, error) {
			if what == "hello" {
				var err error
				if current, err = open(); err != nil {
					current = nil
					return nil, err
				}
				return introduce(way, current.info()), nil
			}
			alive := func(doing string) error { return send("alive", doing) }
			return current.handle(what, with, alive)
		})
		if err == nil {
			if answer == nil {
				answer = map[string]any{}
			}
			err = send("ok", answer)
		}
		if gone {
			return
		}
		if err != nil {
			if current != nil {
				if _, again := attempt(func() (map[string]any, error) { current.failed(); return nil, nil }); again != nil {
					err = alsoFailed(err, again)
				}
			}
			if err := send("error", refusal(err)); gone {
				return
			} else if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
}

// alsoFailed adds the error of what had to be done after another one.
func alsoFailed(err, again error) error {
	var unavailable *Unavailable
	if errors.As(err, &unavailable) {
		return &Unavailable{fmt.Sprintf("%v; and then %v", err, again), unavailable.NotCommitted}
	}
	return fmt.Errorf("%v; and then %w", err, again)
}

// attempt turns a panic into an error: an order that a driver stumbles over must not end the other sessions.
func attempt(do func() (map[string]any, error)) (answer map[string]any, err error) {
	defer func() {
		if found := recover(); found != nil {
			fmt.Fprintf(os.Stderr, "%s", debug.Stack())
			err = fmt.Errorf("panic: %v", found)
		}
	}()
	return do()
}

func introduce(way string, info Info) map[string]any {
	settings := map[string]any{}
	for name, value := range info.Settings {
		settings[name] = value
	}
	var isolation any
	if info.Isolation != "" {
		isolation = info.Isolation
	}
	return map[string]any{
		"protocol": protocol, "name": info.Name, "version": info.Version, "way": way, "guarantee": info.Guarantee,
		"isolation": isolation, "durable": info.Durable, "sessions": 0, "settings": settings,
	}
}

func refusal(err error) map[string]any {
	said := map[string]any{"kind": "fatal", "detail": err.Error()}
	var aborted *Aborted
	var rolledBack *RolledBack
	var unavailable *Unavailable
	var unsupported *Unsupported
	switch {
	case errors.As(err, &aborted):
		said["kind"], said["reason"] = "aborted", aborted.Reason
	case errors.As(err, &rolledBack):
		said["kind"] = "rolled_back"
		said["order"] = map[string]any{
			"o_id": rolledBack.OID, "c_last": rolledBack.CLast, "c_credit": rolledBack.CCredit,
		}
	case errors.As(err, &unavailable):
		said["kind"], said["committed"] = "unavailable", "unknown"
		if unavailable.NotCommitted {
			said["committed"] = "no"
		}
	case errors.As(err, &unsupported):
		said["kind"] = "unsupported"
	}
	return said
}

// fields are those of a request. What Lydite sends is of the right type; else the request is refused.
type fields map[string]any

func (f fields) int(name string) int64 {
	value, ok := f[name].(int64)
	if !ok {
		panic(fmt.Sprintf("the request has %s = %v, and wants a number", name, f[name]))
	}
	return value
}

func (f fields) text(name string) string {
	value, ok := f[name].(string)
	if !ok {
		panic(fmt.Sprintf("the request has %s = %v, and wants a text", name, f[name]))
	}
	return value
}

// bytes are nil when the field is.
func (f fields) bytes(name string) []byte {
	value, _ := f[name].([]byte)
	return value
}

func (f fields) list(name string) []any {
	value, _ := f[name].([]any)
	return value
}
