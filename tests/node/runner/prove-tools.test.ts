import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NoToolsError, proveTools } from '../../../runner/run/prove-tools.ts'

/** Statuses of the next answers; then each call has a result. */
let statuses: number[] = []
let asked = 0
let url = ''
const server = createServer((_request, response) => {
  asked++
  const status = statuses.shift() ?? 200
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(status === 200 ? '{"jsonrpc":"2.0","id":1,"result":{}}' : 'no')
})
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
})
afterAll(() => server.close())

test('X6: a hub that is starting again is asked again, and one that refuses is not', async () => {
  const { signal } = new AbortController()
  statuses = [503, 200, 502]
  await proveTools(url, 'token', signal)
  expect(asked).toBe(6)
  statuses = [401]
  await expect(proveTools(url, 'token', signal)).rejects.toThrow('answered 401')
  expect(asked).toBe(7)
  statuses = Array(10).fill(503)
  await expect(proveTools(url, 'token', signal, 600)).rejects.toThrow(NoToolsError)
  // A run that must end does not wait for it.
  const stop = AbortSignal.timeout(100)
  await expect(proveTools(url, 'token', stop)).rejects.toThrow(/abort/i)
})
