import type { Executor } from './executor'

/**
 * The loop of this room. It runs in the agent's own object, which keeps its journal (agent-shell.ts),
 * so a run is handed over to it at once.
 */
export const native: Executor = {
  type: 'native',
  explainAbsence: () => null,
  async *run() {
    yield { type: 'handed_over' }
  },
  parseResponse: (output) => {
    const text = output.trim()
    return text === '' ? { kind: 'nothing' } : { kind: 'reply', text, usage: null }
  },
}
