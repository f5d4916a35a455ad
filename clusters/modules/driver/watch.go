package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const allPods = "/api/v1/pods"

// watcher shows all pods to a record. It is written without client-go's: those decode every event twice, and stamp
// none.
type watcher struct {
	api     *connections
	record  *record
	version string // of the last event
	frame   []byte
}

// watchPods returns when the record has what exists now; from then on it is kept up to date.
func watchPods(ctx context.Context, api *connections, r *record) error {
	answer, err := api.request(ctx, api.watching, http.MethodGet, allPods, "", nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	list := &corev1.PodList{}
	if _, _, err := wire.Decode(said, nil, list); err != nil {
		return err
	}
	at := now()
	for i := range list.Items {
		r.apply(watch.Added, &list.Items[i], at)
	}
	w := &watcher{api: api, record: r, version: list.ResourceVersion}
	events, err := w.open()
	if err != nil {
		return err
	}
	go w.follow(events)
	return nil
}

// open resumes behind the last event.
func (w *watcher) open() (io.ReadCloser, error) {
	query := url.Values{
		"watch": {"1"}, "resourceVersion": {w.version}, "allowWatchBookmarks": {"1"},
		"timeoutSeconds": {"86400"}, // the apiserver would end it after half an hour or more
	}
	answer, err := w.api.request(
		context.Background(), w.api.watching, http.MethodGet, allPods+"?"+query.Encode(), "", nil,
	)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// follow ends when the watch cannot be resumed: what happened in between would be missed, or seen late.
func (w *watcher) follow(events io.ReadCloser) {
	for {
		err := w.read(bufio.NewReaderSize(events, 1<<16))
		events.Close()
		log.Printf("the watch ended behind version %s: %v", w.version, err)
		if events, err = w.open(); err != nil {
			w.record.fail(fmt.Errorf("the watch of pods has ended, and cannot be resumed: %w", err))
			return
		}
	}
}

// read returns why there is nothing more to read.
func (w *watcher) read(events io.Reader) error {
	for {
		var size [4]byte
		if _, err := io.ReadFull(events, size[:]); err != nil {
			return err
		}
		length := int(binary.BigEndian.Uint32(size[:]))
		if length > cap(w.frame) {
			w.frame = make([]byte, length)
		}
		w.frame = w.frame[:length]
		if _, err := io.ReadFull(events, w.frame); err != nil {
			return err
		}
		if err := w.take(now()); err != nil {
			return err
		}
	}
}

// take applies the event in the frame.
func (w *watcher) take(at moment) error {
	var event metav1.WatchEvent
	if err := event.Unmarshal(w.frame); err != nil {
		return err
	}
	if watch.EventType(event.Type) == watch.Error {
		return refusal(http.StatusInternalServerError, event.Object.Raw)
	}
	shown := &corev1.Pod{}
	if _, _, err := wire.Decode(event.Object.Raw, nil, shown); err != nil {
		return err
	}
	w.version = shown.ResourceVersion
	if watch.EventType(event.Type) != watch.Bookmark {
		w.record.apply(watch.EventType(event.Type), shown, at)
	}
	return nil
}
