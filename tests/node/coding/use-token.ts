import { expect } from 'vitest'
import { addressHeader, type CodingHub } from './coding-hub.ts'

export const asBearer = (token: string) => ({ authorization: `Bearer ${token}` })

/**
 * Whether a route takes no key: where anybody registers, and where a trigger or a mail service, of which there are none
 * here, has a secret of its own.
 */
const takesNoKey = (route: string, status: number): boolean =>
  route.endsWith(' /accounts') ||
  (['POST /triggers/{id}', 'POST /mail/bounces'].includes(route) && status === 404)

/** Sends a request to each route of the API. Returns those that did not refuse it. */
export async function tryEveryRoute(hub: CodingHub, token: string): Promise<string[]> {
  const document = await (await fetch(`${hub.url()}/api/v1/openapi.json`)).json()
  const { paths } = document as { paths: Record<string, Record<string, unknown>> }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  )
  expect(routes.length).toBeGreaterThan(150)
  const open: string[] = []
  for (let at = 0; at < routes.length; at += 10) {
    const part = routes.slice(at, at + 10).map(async (route) => {
      const { method, path } = route
      const url = `${hub.url()}${path.startsWith('/api/') ? '' : '/api/v1'}${path.replaceAll(/\{\w+\}/g, 'x')}?q=x&name=x`
      const headers = { ...asBearer(token), [addressHeader]: `10.1.${routes.indexOf(route)}.1` }
      const { status } = await fetch(url, { method, headers, redirect: 'manual' })
      const name = `${method} ${path}`
      if (status !== 401 && !takesNoKey(name, status)) open.push(`${name}: ${status}`)
    })
    await Promise.all(part)
  }
  return open
}

/** What each of the three places answers that a token opens. */
export async function useToken(
  hub: CodingHub,
  token: string,
): Promise<Record<'mcp' | 'models' | 'git', number>> {
  const json = { ...asBearer(token), 'content-type': 'application/json' }
  const accept = 'application/json, text/event-stream'
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const messages = [{ role: 'user', content: 'Hello' }]
  const ask = { model: 'claude-haiku-4-5', max_tokens: 10, messages }
  const send = async (path: string, init: RequestInit) => {
    const response = await fetch(`${hub.url()}${path}`, init)
    await response.text()
    return response.status
  }
  return {
    mcp: await send('/mcp', {
      method: 'POST',
      headers: { ...json, accept },
      body: JSON.stringify(list),
    }),
    models: await send('/gateway/v1/messages', {
      method: 'POST',
      headers: json,
      body: JSON.stringify(ask),
    }),
    git: await send('/git/forge/acme/tools/info/refs?service=git-upload-pack', {
      headers: asBearer(token),
    }),
  }
}

/** What `useToken` finds while a run goes on, and after its end. */
export const opened = { mcp: 200, models: 200, git: 200 }
export const closed = { mcp: 401, models: 401, git: 403 }
