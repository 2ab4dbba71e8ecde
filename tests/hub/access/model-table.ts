import { env } from 'cloudflare:workers'
import type { Table } from './cells'

const form = (path: string, fields: Record<string, string> = {}) => ({ path, body: fields })

/** Opens the windows of all budgets, as a sweep does, so that a call can be paid for. */
async function openBudgets(): Promise<void> {
  await env.DB.batch([
    env.DB.prepare('DELETE FROM budget_windows'),
    env.DB.prepare(
      'INSERT INTO budget_windows (budget_id, starts_at, ends_at) SELECT id, 0, 9000000000000 FROM budgets',
    ),
  ])
}

/** Who can read model providers and test a model through the API. */
export const modelRows: Table = {
  'GET /models': { expect: 'admin' },
  'POST /models/test': {
    expect: 'admin',
    send: async () => {
      await openBudgets()
      return { body: { model: 'offline' } }
    },
  },
}

/** Who can open and send the page of model providers. */
export const modelPageRows: Table = {
  'GET /models': { expect: 'admin' },
  'POST /models': {
    expect: 'admin',
    send: (world) =>
      form('/models', {
        provider: 'openai-compatible',
        has_address: 'yes',
        allow_private: 'on',
        base_url: world.modelUrl,
        default_model: '',
      }),
  },
  'POST /models/key': {
    expect: 'admin',
    send: () => form('/models/key', { provider: 'openai-compatible', value: 'a-key-of-models' }),
  },
  'POST /models/local': {
    expect: 'admin',
    // Nothing is found where others reach the hub.
    except: { admin: 404 },
    send: () => form('/models/local', { server: 'Ollama', model: 'qwen3' }),
  },
  'POST /models/list': {
    expect: 'admin',
    send: () => form('/models/list', { provider: 'openai-compatible' }),
  },
  'POST /models/use': {
    expect: 'admin',
    // It has no key.
    except: { admin: 404 },
    send: () => form('/models/use', { provider: 'anthropic' }),
  },
  'POST /models/price': {
    expect: 'admin',
    send: () =>
      form('/models/price', {
        provider: 'anthropic',
        model: 'claude-atlas',
        input: '2',
        cached: '0.2',
        output: '10',
      }),
  },
  'POST /models/price/reset': {
    expect: 'admin',
    send: () => form('/models/price/reset', { provider: 'anthropic', model: 'claude-atlas' }),
  },
  'POST /models/test': {
    expect: 'admin',
    send: async () => {
      await openBudgets()
      return form('/models/test', { provider: 'offline', model: 'extractive' })
    },
  },
  'POST /models/delete': {
    expect: 'admin',
    send: () => form('/models/delete', { provider: 'openai-compatible' }),
  },
}
