import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Relay, startRelay } from '../../../runner/run/relay.ts'

let relay: Relay
/** Paths of requests that arrived at the hub. */
const arrived: string[] = []
const hub = createServer((request, response) => {
  arrived.push(request.url ?? '')
  response.end('{}')
})
beforeAll(async () => {
  await new Promise<void>((resolve) => hub.listen(0, '127.0.0.1', resolve))
  const models = `http://127.0.0.1:${(hub.address() as AddressInfo).port}/gateway`
  relay = await startRelay({
    order: {
      token: 'token',
      endpoints: { models, mcp: `${models}/mcp`, git: models },
      limits: { model_requests: 3 } as never,
    },
    onActivity: () => undefined,
    onTooManyRequests: () => undefined,
    beforePullRequest: async () => undefined,
  })
})
afterAll(() => {
  relay.close()
  hub.close()
})

test('X4: a model request after the turn is refused, is not sent and counts for nothing', async () => {
  const ask = async (path: string) => {
    const headers = { authorization: `Bearer ${relay.key}` }
    const response = await fetch(relay.url + path, { method: 'POST', headers, body: '{}' })
    return [response.status, await response.text()]
  }
  expect((await ask('/v1/responses'))[0]).toBe(200)
  relay.endTurn()
  for (const path of ['/v1/responses', '/v1/messages', '/v1/chat/completions']) {
    const [status, text] = await ask(path)
    expect([path, status]).toEqual([path, 403])
    expect(text).toContain('The turn is over')
  }
  expect((await ask('/mcp'))[0]).toBe(200)
  expect(arrived).toEqual(['/gateway/v1/responses', '/gateway/mcp'])
  expect(relay.facts).toMatchObject({ modelRequests: 1, modelAnswers: 1 })
})
