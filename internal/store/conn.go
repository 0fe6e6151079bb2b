package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// A conn is one SQLite connection with the statements prepared on it. One goroutine at a time may use it.
type conn struct {
	s     *Store
	c     *sql.Conn
	stmts map[string]*sql.Stmt
	inTx  bool
}

func (s *Store) newConn(ctx context.Context) (*conn, error) {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return nil, s.wrap(err)
	}
	return &conn{s: s, c: c, stmts: map[string]*sql.Stmt{}}, nil
}

func (c *conn) close() {
	for _, st := range c.stmts {
		st.Close()
	}
	c.c.Close()
}

// stmt prepares q once. Preparing is not tied to ctx's end: a statement half made would have to be told from a bad one.
func (c *conn) stmt(ctx context.Context, q string) (*sql.Stmt, error) {
	if st, ok := c.stmts[q]; ok {
		return st, nil
	}
	st, err := c.c.PrepareContext(context.WithoutCancel(ctx), q)
	if err != nil {
		return nil, c.s.wrap(err)
	}
	c.stmts[q] = st
	return st, nil
}

// exec runs a statement that changes something. It is the only way by which this package writes to the file, and so the place where tests make writes fail.
func (c *conn) exec(ctx context.Context, q string, args ...any) (sql.Result, error) {
	if fault := c.s.fault; fault != nil {
		if err := fault(q); err != nil {
			return nil, c.s.wrap(err)
		}
	}
	st, err := c.stmt(ctx, q)
	if err != nil {
		return nil, err
	}
	r, err := st.ExecContext(ctx, args...)
	if err != nil {
		return nil, c.s.wrap(err)
	}
	return r, nil
}

// insert is exec that returns the new row's id.
func (c *conn) insert(ctx context.Context, q string, args ...any) (int64, error) {
	r, err := c.exec(ctx, q, args...)
	if err != nil {
		return 0, err
	}
	return r.LastInsertId()
}

// query calls each for every row; scan reads the row's columns.
func (c *conn) query(ctx context.Context, q string, args []any, each func(scan func(...any) error) error) error {
	st, err := c.stmt(ctx, q)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return c.s.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return c.s.wrap(err)
		}
	}
	return c.s.wrap(rows.Err())
}

// row reads one row; false where there is none.
func (c *conn) row(ctx context.Context, q string, args []any, dest ...any) (bool, error) {
	st, err := c.stmt(ctx, q)
	if err != nil {
		return false, err
	}
	switch err := st.QueryRowContext(ctx, args...).Scan(dest...); {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, c.s.wrap(err)
	}
	return true, nil
}

func (c *conn) control(ctx context.Context, q string) error {
	st, err := c.stmt(ctx, q)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(ctx)
	return c.s.wrap(err)
}

func (c *conn) begin(ctx context.Context, q string) error {
	if err := c.control(ctx, q); err != nil {
		return err
	}
	c.inTx = true
	return nil
}

// rollback ends a transaction whatever became of its context. SQLite may have rolled back by itself (disk full); that is no error.
func (c *conn) rollback() {
	if !c.inTx {
		return
	}
	c.inTx = false
	_, _ = c.c.ExecContext(context.Background(), "ROLLBACK")
}

// write runs f inside one write transaction: all of it or nothing.
func (c *conn) write(ctx context.Context, f func() error) (err error) {
	if err := c.begin(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer c.rollback()
	if err := f(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := c.exec(context.WithoutCancel(ctx), "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	c.inTx = false
	return nil
}

// getConn takes an idle connection or makes one.
func (s *Store) getConn(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	return s.newConn(ctx)
}

func (s *Store) putConn(c *conn) {
	c.rollback()
	s.mu.Lock()
	if !s.closed && len(s.idle) < maxIdle {
		s.idle = append(s.idle, c)
		c = nil
	}
	s.mu.Unlock()
	if c != nil {
		c.close()
	}
}

// read runs f on a connection inside one read transaction.
func (s *Store) read(ctx context.Context, f func(c *conn) error) error {
	c, err := s.getConn(ctx)
	if err != nil {
		return err
	}
	defer s.putConn(c)
	if err := c.begin(ctx, "BEGIN"); err != nil {
		return err
	}
	return f(c)
}
