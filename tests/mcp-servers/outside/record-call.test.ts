import { afterEach, expect, test, vi } from 'vitest'
import type { ToolResult } from '../../../src/mcp-servers/contract/tools'
import { runRecorded } from '../../../src/mcp-servers/outside/record-call'
import { mcp } from '../../../src/shared/config'
import type { AccountId, ActivationId } from '../../../src/shared/ids'

afterEach(() => {
  vi.restoreAllMocks()
})

const call = { callId: 'c1', tool: 'hub_read', arguments: '{}' }
const audit = { ...call, grant: 'hub:read', argumentsHash: '', decision: 'allowed', outcome: 'ok' }
const result: ToolResult = {
  ...{ callId: 'c1', text: 'what it read', isError: false, approval: null, durationMs: 1 },
  audit: { ...audit, durationMs: 1, resultBytes: 4, at: 1 } as ToolResult['audit'],
}

/** Runs a call whose end cannot be recorded so many times. */
async function play(marks: Partial<ToolResult>, endsLost: number) {
  const waits: unknown[] = []
  vi.spyOn(scheduler, 'wait').mockImplementation(async (ms) => void waits.push(ms))
  let ends = 0
  const caller = {
    ...{ accountId: 'scout' as AccountId, name: 'scout', kind: 'agent' as const, postId: null },
    ...{ activationId: 'run' as ActivationId, runAttempt: 1 },
  }
  const findRecorder = () => ({
    beginCall: async () => ({ kind: 'run' as const }),
    awaitApproval: async () => 'over' as const,
    endWait: async () => 'over' as const,
    async endCall() {
      if (ends++ < endsLost) throw new Error('The object is not reachable.')
    },
  })
  const gateway = { canWrite: () => false, call: async () => ({ ...result, ...marks }) } as never
  const session = { caller, findRecorder, gateway, hub: {} as never }
  const link = { signal: new AbortController().signal, progress: undefined }
  const end = await runRecorded(session, call, link)
  return { end, waits, ends }
}

test('X13: the result of a call is recorded again after a while', async () => {
  const { end, waits, ends } = await play({ isPrivate: true }, 2)
  expect(end).toEqual({ text: 'what it read', isError: false, decision: 'allowed' })
  expect(waits).toEqual(mcp.recordAgainMs)
  expect(ends).toBe(3)
})

test.each([[{ isPrivate: true }], [{ isOwnAccount: true }]] as const)(
  'X13 T4: a program does not get a result %o that is not on record',
  async (marks) => {
    const { end } = await play(marks, 99)
    expect(end).toMatchObject({ isError: true, decision: 'allowed' })
    expect(end.text).not.toContain('what it read')
  },
)

test('X13: a result that anyone may see is returned without a record, and the call stays in doubt', async () => {
  expect((await play({}, 99)).end.text).toBe('what it read')
})
