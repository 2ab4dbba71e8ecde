import type { Table } from './cells'

const form = (path: string, fields: Record<string, string> = {}) => ({ path, body: fields })

/** Who can open and send the page of model providers. */
export const modelPageRows: Table = {
  'GET /models': { expect: 'admin' },
  'POST /models': {
    expect: 'admin',
    send: (world) =>
      form('/models', {
        ...{ provider: 'openai-compatible', has_address: 'yes', allow_private: 'on' },
        ...{ base_url: world.modelUrl, default_model: '' },
      }),
  },
  'POST /models/key': {
    expect: 'admin',
    send: () => form('/models/key', { provider: 'openai-compatible', value: 'a-key-of-models' }),
  },
  'POST /models/list': {
    expect: 'admin',
    send: () => form('/models/list', { provider: 'openai-compatible' }),
  },
  'POST /models/test': {
    expect: 'admin',
    send: () => form('/models/test', { provider: 'offline', model: 'extractive' }),
  },
  'POST /models/delete': {
    expect: 'admin',
    send: () => form('/models/delete', { provider: 'openai-compatible' }),
  },
}
