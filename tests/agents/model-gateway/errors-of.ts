import { expect } from 'vitest'
import type { ModelProtocol } from '../../../src/shared/runner-protocol'

/** Checks that an error has the form of its protocol and returns its message. */
export async function errorOf(protocol: ModelProtocol, response: Response) {
  const body = await response.json<{ type?: string; error: Record<string, unknown> }>()
  expect(response.headers.get('content-type')).toBe('application/json')
  const { message, type } = body.error
  expect([typeof message, typeof type]).toEqual(['string', 'string'])
  if (protocol === 'anthropic-messages') expect(body.type).toBe('error')
  else expect(Object.keys(body.error).sort()).toEqual(['code', 'message', 'param', 'type'])
  return { message: String(message), type, code: body.error.code }
}

export const notReached = { status: null, usage: null }
