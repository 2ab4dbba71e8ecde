import type { Row, Table } from './cells'

const accept = { accept: 'application/json, text/event-stream' }
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const repository = '/git/github/acme/tools'

/** No key opens it: only the token of an attempt on a runner, which no column has. */
const attemptOnly = (body?: Record<string, unknown>): Row => ({
  expect: 'runnerOnly',
  ...(body && { send: (): { body: Record<string, unknown> } => ({ body }) }),
})
const gitBody = (type: string): Row => ({
  expect: 'gitBody',
  send: () => ({ body: {}, headers: { 'content-type': `application/x-${type}-request` } }),
})

/** What programs reach besides the API: tools, the model gateway and repositories. */
export const programTable: Table = {
  'POST /mcp': {
    expect: 'tools',
    except: { runner: 401 },
    send: () => ({ body: list, headers: accept }),
  },
  'GET /gateway/v1/models': attemptOnly(),
  'POST /gateway/v1/messages': attemptOnly({ model: 'claude-haiku-4-5', messages: [] }),
  'POST /gateway/v1/messages/count_tokens': attemptOnly({ model: 'claude-haiku-4-5' }),
  'POST /gateway/v1/chat/completions': attemptOnly({ model: 'gpt', messages: [] }),
  'POST /gateway/v1/responses': attemptOnly({ model: 'gpt', input: [] }),
  [`GET ${repository}/info/refs?service=git-upload-pack`]: { expect: 'gitRefs' },
  [`GET ${repository}/info/refs?service=git-receive-pack`]: { expect: 'gitRefs' },
  [`POST ${repository}/git-upload-pack`]: gitBody('git-upload-pack'),
  [`POST ${repository}/git-receive-pack`]: gitBody('git-receive-pack'),
}
