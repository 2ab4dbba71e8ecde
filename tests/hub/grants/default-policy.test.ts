import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { selectHeldLines } from '../../../src/hub/contract/policy-line'

const readDefault = async (): Promise<string[]> => {
  const row = await env.DB.prepare(
    `SELECT allowed FROM grant_policies WHERE account_id = '*'`,
  ).first<{ allowed: string }>()
  return JSON.parse(row?.allowed ?? '[]')
}
const allowedFor = async (role: 'guest' | 'member' | 'admin') =>
  selectHeldLines(await readDefault(), [{ name: 'ada', role }]).allowed

test('T1: by default a guest makes an agent read and answer, and nobody makes it use a credential', async () => {
  expect(await allowedFor('guest')).toEqual(['hub:read', 'skills:read'])
  for (const role of ['member', 'admin'] as const) {
    const servers = new Set((await allowedFor(role)).map((grant) => grant.split(':')[0]))
    expect([...servers].sort()).toEqual(['hub', 'memory', 'skills', 'workspace'])
  }
})
