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
  callId: 'c1',
  text: 'what it read',
  isError: false,
  approval: null,
  durationMs: 1,
  audit: { ...audit, durationMs: 1, resultBytes: 4, at: 1 } as ToolResult['audit'],
}

/** Runs a call whose end cannot be recorded so many times. */
async function play(marks: Partial<ToolResult>, endsLost: number) {
  const waits: unknown[] = []
  vi.spyOn(scheduler, 'wait').mockImplementation(async (ms) => void waits.push(ms))
  let ends = 0
  const caller = {
    accountId: 'scout' as AccountId,
    name: 'scout',
    kind: 'agent' as const,
    postId: null,
    activationId: 'run' as ActivationId,
    runAttempt: 1,
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

const approval = {
  callId: 'c1',
  tool: 'hub_read',
  grant: 'hub:read',
  tier: 'read' as const,
  arguments: '{}',
  argumentsHash: '',
}

test.each<[string, number, number, string, boolean?]>([
  ['the status cannot be read for a moment', 3, 0, 'what it read'],
  ['the object cannot be reached for a moment', 0, 3, 'what it read'],
  ['the status can never be read', 99, 0, 'Repeat it later.'],
  ['the object can never be reached', 0, 99, 'Repeat it later.'],
  ['its agent or its runner was stopped meanwhile', 0, 0, 'Repeat it later.', true],
])(
  'X6: a call that waits goes on, or ends with a refusal on record, when %s',
  async (_, statusFails, endFails, text, isStopped = false) => {
    vi.spyOn(scheduler, 'wait').mockResolvedValue()
    const fails = { status: statusFails, end: endFails }
    const failOr = <Value>(name: keyof typeof fails, value: Value): Value => {
      if (fails[name]-- > 0) throw new Error('The database is starting.')
      return value
    }
    let mayRun = false
    const recorded: string[] = []
    const recorder = {
      beginCall: async () => ({ kind: 'run' as const }),
      awaitApproval: async () => 'look' as const,
      async endWait() {
        mayRun = failOr('end', true)
        return 'run' as const
      },
      endCall: async (_run: ActivationId, _call: string, end: { text: string }) =>
        void recorded.push(end.text),
    }
    const waiting = { ...result, text: 'Repeat it later.', isError: true, approval }
    const end = await runRecorded(
      {
        caller: {
          accountId: 'scout' as AccountId,
          name: 'scout',
          kind: 'agent',
          postId: null,
          activationId: 'run' as ActivationId,
          runAttempt: 1,
        },
        findRecorder: () => recorder,
        gateway: { canWrite: () => true, call: async () => (mayRun ? result : waiting) } as never,
        hub: {
          readApprovalStatus: async () => failOr('status', null),
          findActivation: async () => ({ runAttempt: isStopped ? null : 1 }),
        } as never,
      },
      call,
      { signal: new AbortController().signal, progress: undefined },
    )
    expect(end.text).toBe(text)
    expect(recorded).toEqual([text])
  },
)
