package main

import (
	"bytes"
	"math/rand"

	lydite "lydite.dev/driver"
)

// The most levels of a list: enough for four to the power of it keys.
const levels = 14

type node struct {
	key, value []byte
	next       []*node
}

// list is an ordered map: a skip list. Each node is on the lowest level, and each fourth of a level on the next.
type list struct {
	head   *node
	random *rand.Rand
}

func newList() *list {
	return &list{&node{next: make([]*node, levels)}, rand.New(rand.NewSource(1))}
}

// before gives, for each level, the last node with a key less than key.
func (l *list) before(key []byte) [levels]*node {
	var path [levels]*node
	at := l.head
	for level := levels - 1; level >= 0; level-- {
		for at.next[level] != nil && bytes.Compare(at.next[level].key, key) < 0 {
			at = at.next[level]
		}
		path[level] = at
	}
	return path
}

func (l *list) get(key []byte) ([]byte, bool) {
	path := l.before(key)
	if found := path[0].next[0]; found != nil && bytes.Equal(found.key, key) {
		return found.value, true
	}
	return nil, false
}

func (l *list) put(key, value []byte) {
	path := l.before(key)
	if found := path[0].next[0]; found != nil && bytes.Equal(found.key, key) {
		found.value = value
		return
	}
	height := 1
	for height < levels && l.random.Intn(4) == 0 {
		height++
	}
	added := &node{key, value, make([]*node, height)}
	for level := range added.next {
		added.next[level] = path[level].next[level]
		path[level].next[level] = added
	}
}

func (l *list) remove(key []byte) {
	path := l.before(key)
	found := path[0].next[0]
	if found == nil || !bytes.Equal(found.key, key) {
		return
	}
	for level := range found.next {
		path[level].next[level] = found.next[level]
	}
}

func (l *list) scan(from, below []byte, limit int, backward bool) []lydite.Entry {
	var entries []lydite.Entry
	if !backward {
		path := l.before(from)
		for at := path[0].next[0]; at != nil && len(entries) < limit; at = at.next[0] {
			if below != nil && bytes.Compare(at.key, below) >= 0 {
				break
			}
			entries = append(entries, lydite.Entry{Key: at.key, Value: at.value})
		}
		return entries
	}
	for len(entries) < limit {
		last := l.last(below)
		if last == nil || bytes.Compare(last.key, from) < 0 {
			break
		}
		entries = append(entries, lydite.Entry{Key: last.key, Value: last.value})
		below = last.key
	}
	return entries
}

// last is the greatest node below a key; of all if the key is nil.
func (l *list) last(below []byte) *node {
	at := l.head
	for level := levels - 1; level >= 0; level-- {
		for at.next[level] != nil && (below == nil || bytes.Compare(at.next[level].key, below) < 0) {
			at = at.next[level]
		}
	}
	if at == l.head {
		return nil
	}
	return at
}
