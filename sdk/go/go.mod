module lydite.dev/driver

go 1.19
