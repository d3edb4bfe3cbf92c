// Command verdict says what Argo CD and the tools that follow kstatus (Flux, Helm 4) make of objects.
//
// It reads from standard input a list of objects as they are wanted and as they are, either of which may be missing, and
// writes a verdict on each. The rules are those tools' own: their libraries are called, nothing is judged here.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/sync/hook"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/sync/ignore"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/sync/syncwaves"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
)

// How long Argo CD lets a script run.
const patience = time.Second

type pair struct {
	Wanted *unstructured.Unstructured `json:"wanted"`
	Live   *unstructured.Unstructured `json:"live"`
}

type judgement struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type verdict struct {
	// Of the live object.
	Kstatus *judgement `json:"kstatus,omitempty"`
	Health  *judgement `json:"health,omitempty"`
	// Of the wanted object. Without a hook type it is part of the sync; with an unknown one it is ignored.
	Hooks   []string `json:"hooks"`
	Skipped bool     `json:"skipped"`
	Ignored bool     `json:"ignored"`
	Wave    int      `json:"wave"`
	// Of both: out of sync.
	Differs bool   `json:"differs"`
	Wants   string `json:"wants,omitempty"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("one argument is expected, the file of the health script")
	}
	script, err := os.ReadFile(arguments[0])
	if err != nil {
		return err
	}
	var pairs []pair
	if err := json.NewDecoder(os.Stdin).Decode(&pairs); err != nil {
		return fmt.Errorf("reading the objects: %w", err)
	}
	verdicts := make([]verdict, 0, len(pairs))
	for index, pair := range pairs {
		verdict, err := judge(pair, string(script))
		if err != nil {
			return fmt.Errorf("object %d: %w", index, err)
		}
		verdicts = append(verdicts, verdict)
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}

func judge(pair pair, script string) (verdict, error) {
	said := verdict{Hooks: []string{}}
	if pair.Live != nil {
		result, err := status.Compute(pair.Live)
		if err != nil {
			return said, fmt.Errorf("kstatus: %w", err)
		}
		said.Kstatus = &judgement{Status: string(result.Status), Message: result.Message}
		if said.Health, err = health(pair.Live, script); err != nil {
			return said, fmt.Errorf("the health script: %w", err)
		}
	}
	if pair.Wanted != nil {
		for _, of := range hook.Types(pair.Wanted) {
			said.Hooks = append(said.Hooks, string(of))
		}
		said.Skipped, said.Ignored, said.Wave = hook.Skip(pair.Wanted), ignore.Ignore(pair.Wanted), syncwaves.Wave(pair.Wanted)
	}
	if pair.Wanted != nil && pair.Live != nil {
		result, err := diff.Diff(context.Background(), pair.Wanted, pair.Live)
		if err != nil {
			return said, fmt.Errorf("the difference: %w", err)
		}
		if said.Differs = result.Modified; said.Differs {
			said.Wants = string(result.PredictedLive)
		}
	}
	return said, nil
}

// health runs a script as Argo CD does: without Lua's libraries but for these three, and for a second at most. A script of a
// kind that it is not for is the caller's mistake.
func health(live *unstructured.Unstructured, script string) (*judgement, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	libraries := map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable}
	for _, name := range []string{lua.LoadLibName, lua.BaseLibName, lua.TabLibName} {
		call := lua.P{Fn: state.NewFunction(libraries[name]), NRet: 0, Protect: true}
		if err := state.CallByParam(call, lua.LString(name)); err != nil {
			return nil, err
		}
	}
	limited, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	state.SetContext(limited)
	object, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	value, err := luajson.Decode(state, object)
	if err != nil {
		return nil, err
	}
	state.SetGlobal("obj", value)
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	returned := state.Get(-1)
	if returned.Type() != lua.LTTable {
		return nil, fmt.Errorf("it returns a %s and no table", returned.Type())
	}
	text, err := luajson.Encode(returned)
	if err != nil {
		return nil, err
	}
	said := &judgement{}
	return said, json.Unmarshal(text, said)
}
