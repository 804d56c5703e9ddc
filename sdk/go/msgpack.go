package lydite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// MessagePack as far as the protocol uses it. A message is decoded into nil, bool, int64, float64, string, []byte, []any
// and map[string]any.

func appendUint32(out []byte, code byte, value uint32) []byte {
	return binary.BigEndian.AppendUint32(append(out, code), value)
}

func appendInt(out []byte, value int64) []byte {
	switch {
	case value >= 0 && value < 128, value < 0 && value >= -32:
		return append(out, byte(value))
	case value >= math.MinInt32 && value <= math.MaxInt32:
		return appendUint32(out, 0xd2, uint32(int32(value)))
	default:
		return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(value))
	}
}

func appendText(out []byte, value string) []byte {
	switch size := len(value); {
	case size < 32:
		out = append(out, 0xa0|byte(size))
	case size < 256:
		out = append(out, 0xd9, byte(size))
	default:
		out = appendUint32(out, 0xdb, uint32(size))
	}
	return append(out, value...)
}

func appendBytes(out []byte, value []byte) []byte {
	if size := len(value); size < 256 {
		out = append(out, 0xc4, byte(size))
	} else {
		out = appendUint32(out, 0xc6, uint32(size))
	}
	return append(out, value...)
}

func appendArray(out []byte, size int) []byte {
	if size < 16 {
		return append(out, 0x90|byte(size))
	}
	return appendUint32(out, 0xdd, uint32(size))
}

func appendMap(out []byte, size int) []byte {
	if size < 16 {
		return append(out, 0x80|byte(size))
	}
	return appendUint32(out, 0xdf, uint32(size))
}

func appendValue(out []byte, value any) ([]byte, error) {
	switch value := value.(type) {
	case nil:
		return append(out, 0xc0), nil
	case bool:
		if value {
			return append(out, 0xc3), nil
		}
		return append(out, 0xc2), nil
	case int:
		return appendInt(out, int64(value)), nil
	case int64:
		return appendInt(out, value), nil
	case int32:
		return appendInt(out, int64(value)), nil
	case *int64:
		if value == nil {
			return append(out, 0xc0), nil
		}
		return appendInt(out, *value), nil
	case *string:
		if value == nil {
			return append(out, 0xc0), nil
		}
		return appendText(out, *value), nil
	case string:
		return appendText(out, value), nil
	case []byte:
		if value == nil {
			return append(out, 0xc0), nil
		}
		return appendBytes(out, value), nil
	case []any:
		return appendAll(appendArray(out, len(value)), value)
	case map[string]any:
		out = appendMap(out, len(value))
		for name, each := range value {
			var err error
			if out, err = appendValue(appendText(out, name), each); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("a %T can't be sent: use int64, string, []byte or nil", value)
}

func appendAll(out []byte, values []any) ([]byte, error) {
	var err error
	for _, each := range values {
		if out, err = appendValue(out, each); err != nil {
			return nil, err
		}
	}
	return out, nil
}

var errShort = errors.New("the message ends too early")

type decoder struct {
	data []byte
}

func (d *decoder) take(size int) ([]byte, error) {
	if size < 0 || size > len(d.data) {
		return nil, errShort
	}
	taken := d.data[:size:size]
	d.data = d.data[size:]
	return taken, nil
}

func (d *decoder) number(width int) (uint64, error) {
	bytes, err := d.take(width)
	if err != nil {
		return 0, err
	}
	var number uint64
	for _, each := range bytes {
		number = number<<8 | uint64(each)
	}
	return number, nil
}

func (d *decoder) value() (any, error) {
	heads, err := d.take(1)
	if err != nil {
		return nil, err
	}
	head := heads[0]
	switch {
	case head < 0x80:
		return int64(head), nil
	case head < 0x90:
		return d.fields(int(head & 15))
	case head < 0xa0:
		return d.list(int(head & 15))
	case head < 0xc0:
		return d.text(int(head & 31))
	case head >= 0xe0:
		return int64(int8(head)), nil
	}
	switch head {
	case 0xc0:
		return nil, nil
	case 0xc2, 0xc3:
		return head == 0xc3, nil
	case 0xcb:
		bits, err := d.number(8)
		return math.Float64frombits(bits), err
	case 0xcc, 0xcd, 0xce, 0xcf:
		number, err := d.number(1 << (head - 0xcc))
		return int64(number), err
	case 0xd0, 0xd1, 0xd2, 0xd3:
		width := 1 << (head - 0xd0)
		number, err := d.number(width)
		shift := 64 - 8*width
		return int64(number<<shift) >> shift, err
	}
	width := map[byte]int{0xc4: 1, 0xc5: 2, 0xc6: 4, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4}[head]
	if width == 0 {
		return nil, fmt.Errorf("byte %#x is no MessagePack of this protocol", head)
	}
	size, err := d.number(width)
	if err != nil {
		return nil, err
	}
	switch {
	case head <= 0xc6:
		return d.take(int(size))
	case head <= 0xdb:
		return d.text(int(size))
	case head <= 0xdd:
		return d.list(int(size))
	}
	return d.fields(int(size))
}

func (d *decoder) text(size int) (any, error) {
	bytes, err := d.take(size)
	return string(bytes), err
}

func (d *decoder) list(size int) (any, error) {
	if size > len(d.data) {
		return nil, errShort
	}
	values := make([]any, size)
	for index := range values {
		var err error
		if values[index], err = d.value(); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (d *decoder) fields(size int) (any, error) {
	values := make(map[string]any, min(size, 64))
	for ; size > 0; size-- {
		name, err := d.value()
		if err != nil {
			return nil, err
		}
		text, ok := name.(string)
		if !ok {
			return nil, fmt.Errorf("a map has the key %v, which is no text", name)
		}
		if values[text], err = d.value(); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}
