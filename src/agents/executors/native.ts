import type { Executor } from './executor'

/**
 * The built-in loop. It runs in the agent's own object, which has the journal (agent-shell.ts), so a
 * run is handed over to that object at once.
 */
export const native: Executor = {
  type: 'native',
  explainUnavailable: () => null,
  async *run() {
    yield { type: 'handed_over' }
  },
  parseResponse: (output) => {
    const text = output.trim()
    return text === '' ? { kind: 'nothing' } : { kind: 'reply', text, usage: null }
  },
}
