// plugin FOLDER RESOURCE NUMBER NODES - the device plugin of a node
//
// Offers NUMBER devices to the kubelet whose plugins have their sockets in
// FOLDER: gpu-0, gpu-1 and so on, divided evenly among NODES NUMA nodes. A
// container sees in $GPUS which of them it has.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	devices []*api.Device
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (
	*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *api.Empty,
	stream api.DevicePlugin_ListAndWatchServer) error {
	err := stream.Send(&api.ListAndWatchResponse{Devices: p.devices})
	if err == nil {
		<-stream.Context().Done()
	}
	return err
}

func (p *plugin) Allocate(_ context.Context, r *api.AllocateRequest) (
	*api.AllocateResponse, error) {
	answer := &api.AllocateResponse{}
	for _, c := range r.ContainerRequests {
		answer.ContainerResponses = append(answer.ContainerResponses,
			&api.ContainerAllocateResponse{Envs: map[string]string{
				"GPUS": strings.Join(c.DevicesIds, ",")}})
	}
	return answer, nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	check(err)
	return n
}

func main() {
	folder, resource := os.Args[1], os.Args[2]
	count, nodes := number(os.Args[3]), number(os.Args[4])
	p := &plugin{}
	for i := 0; i < count; i++ {
		node := &api.NUMANode{ID: int64(i * nodes / count)}
		p.devices = append(p.devices, &api.Device{
			ID: fmt.Sprintf("gpu-%d", i), Health: api.Healthy,
			Topology: &api.TopologyInfo{Nodes: []*api.NUMANode{node}}})
	}
	socket := filepath.Join(folder, "gpu.sock")
	os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	check(err)
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	go server.Serve(listener)

	kubelet, err := grpc.NewClient(
		"unix://"+filepath.Join(folder, "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	_, err = api.NewRegistrationClient(kubelet).Register(
		context.Background(), &api.RegisterRequest{Version: api.Version,
			Endpoint: "gpu.sock", ResourceName: resource},
		grpc.WaitForReady(true))
	check(err)
	select {}
}
