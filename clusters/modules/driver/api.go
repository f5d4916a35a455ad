package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	asProtobuf = runtime.ContentTypeProtobuf
	asJSON     = runtime.ContentTypeJSON
)

// core is the scheme of core/v1, the only API group that is used.
var core = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return scheme
}()

var wire = protobuf.NewSerializer(core, core)

// encode returns an object as protobuf.
func encode(object runtime.Object, kind string) ([]byte, error) {
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	var buffer bytes.Buffer
	err := wire.Encode(object, &buffer)
	return buffer.Bytes(), err
}

// connections are the HTTP clients for requests and for the watch.
type connections struct {
	base     string
	many     int // number of concurrent requests of commands with many requests
	client   *http.Client
	watching *http.Client
}

func connect(kubeconfig string, many int) (*connections, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	if config.Proxy != nil {
		return nil, fmt.Errorf("expected a cluster that is reached without the proxy that %s names", kubeconfig)
	}
	config.UserAgent = "schedproof-driver"
	config.DisableCompression = true
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	transport, err := rest.HTTPWrappersForConfig(config, &direct{address: address(server), secure: secure})
	if err != nil {
		return nil, err
	}
	// Over HTTP/2 each event would go from one goroutine to the next before it is stamped.
	config.NextProtos = []string{"http/1.1"}
	watching, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &connections{
		base: strings.TrimSuffix(server.String(), "/"), many: many, client: &http.Client{Transport: transport},
		watching: watching,
	}, nil
}

func address(server *url.URL) string {
	port := server.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[server.Scheme]
	}
	return net.JoinHostPort(server.Hostname(), port)
}

// send makes a request and ignores the body of a successful response.
func (c *connections) send(ctx context.Context, method, path, contentType string, body []byte) error {
	answer, err := c.request(ctx, c.client, method, path, contentType, body)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// request returns a successful response; any other is an error.
func (c *connections) request(
	ctx context.Context, client *http.Client, method, path, contentType string, body []byte,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header["Accept"] = []string{asProtobuf}
	if body != nil {
		request.Header["Content-Type"] = []string{contentType}
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < http.StatusMultipleChoices {
		return answer, nil
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return nil, fmt.Errorf("%s %s: %w", method, path, refusal(answer.StatusCode, said))
}

// refusal returns the apiserver's error response as an error of apimachinery.
func refusal(code int, said []byte) error {
	status := &metav1.Status{}
	if _, _, err := wire.Decode(said, nil, status); err != nil || status.Code == 0 {
		return errors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", string(said), 0, true)
	}
	return errors.FromObject(status)
}

// each calls do for 0 to count-1, with c.many calls at once, and returns the first error, after which it starts no more
// calls.
func (c *connections) each(ctx context.Context, count int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(count, c.many) {
		workers.Go(func() {
			for ctx.Err() == nil {
				index := int(next.Add(1)) - 1
				if index >= count {
					return
				}
				if err := do(ctx, index); err != nil {
					cancel(err)
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}
