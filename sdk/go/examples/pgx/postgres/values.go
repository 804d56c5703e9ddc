package postgres

import (
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	lydite "lydite.dev/driver"
)

// cents is an amount, a numeric with two places.
type cents int64

// ScanNumeric reads it as pgx asks for.
func (c *cents) ScanNumeric(value pgtype.Numeric) error {
	units, err := unitsOf(value, 2)
	*c = cents(units)
	return err
}

// NumericValue gives it as pgx asks for.
func (c cents) NumericValue() (pgtype.Numeric, error) {
	return pgtype.Numeric{Int: big.NewInt(int64(c)), Exp: -2, Valid: true}, nil
}

// String is for C_DATA.
func (c cents) String() string { return fmt.Sprintf("%d.%02d", c/100, c%100) }

// rate is a tax or a discount, a numeric with four places.
type rate int64

// ScanNumeric reads it as pgx asks for.
func (r *rate) ScanNumeric(value pgtype.Numeric) error {
	units, err := unitsOf(value, 4)
	*r = rate(units)
	return err
}

// NumericValue gives it as pgx asks for.
func (r rate) NumericValue() (pgtype.Numeric, error) {
	return pgtype.Numeric{Int: big.NewInt(int64(r)), Exp: -4, Valid: true}, nil
}

// unitsOf is a number in units of its last place, which has to be exact.
func unitsOf(value pgtype.Numeric, places int32) (int64, error) {
	if !value.Valid || value.NaN || value.InfinityModifier != pgtype.Finite {
		return 0, fmt.Errorf("a number is missing: run lydite check")
	}
	units, exponent := value.Int, value.Exp+places
	if exponent != 0 {
		size := exponent
		if size < 0 {
			size = -size
		}
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(size)), nil)
		if exponent > 0 {
			units = new(big.Int).Mul(units, power)
		} else {
			rest := new(big.Int)
			units, rest = new(big.Int).QuoRem(units, power, rest)
			if rest.Sign() != 0 {
				return 0, fmt.Errorf("a number has more than %d places: run lydite check", places)
			}
		}
	}
	if !units.IsInt64() {
		return 0, fmt.Errorf("a number is too large: run lydite check")
	}
	return units.Int64(), nil
}

// when is a point in time as PostgreSQL takes it.
func when(micros int64) time.Time { return time.UnixMicro(micros) }

// stored turns a column as Lydite sends it into what pgx stores.
func stored(kind lydite.Kind, value any) any {
	number, ok := value.(int64)
	switch {
	case !ok:
		return value
	case kind == lydite.Money:
		return cents(number)
	case kind == lydite.Rate:
		return rate(number)
	case kind == lydite.Time:
		return when(number)
	}
	return number
}

// shown turns a column as pgx reads it into what Lydite reads.
func shown(kind lydite.Kind, value any) (any, error) {
	switch value := value.(type) {
	case pgtype.Numeric:
		if kind == lydite.Rate {
			return unitsOf(value, 4)
		}
		return unitsOf(value, 2)
	case time.Time:
		return value.UnixMicro(), nil
	case int16:
		return int64(value), nil
	}
	return value, nil
}
