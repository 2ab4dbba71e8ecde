import { expect, test } from 'vitest'
import { codingAgents } from '../../../src/shared/config'
import { agentId } from './fake-hub'
import { begin, createWorld, ended, goodTurn, live, started } from './fake-runner'
import { inObject } from './world'

test('L46 X1 X3: a task goes to a runner with its prompt, and the answer, its cost and its steps come back', () =>
  inObject(async (state) => {
    const written: string[] = []
    const { world, runners } = createWorld(goodTurn(written))
    world.hub.ask('@scout count the herons')
    await live(world, state)
    const [order] = runners.orders
    expect(order).toMatchObject({
      agent_id: agentId,
      attempt: 1,
      agent: 'scout',
      program: 'claude-code',
      builtin: 'none',
      model: { name: 'one', protocols: ['anthropic-messages'] },
      workspace: null,
      session_id: null,
      runs_on: [],
    })
    expect(order?.system_prompt).toContain('soul')
    expect(order?.prompt).toContain('count the herons')
    expect(order?.prompt).not.toContain('soul')
    expect(runners.stops).toEqual([])
    const [commit] = world.hub.commits
    expect(commit).toMatchObject({
      outcome: 'completed',
      iterations: 2,
      tools: ['act'],
      program: 'claude-code',
    })
    expect(commit?.reply?.content).toContain('Nine herons.')
    // 1,000 tokens at a dollar a million, 100 at five
    expect(commit?.usage.map(({ costMicrousd }) => costMicrousd)).toEqual([1_500, 1_500])
    expect(commit?.hasReadUntrusted).toBe(true)
    expect(world.asked).toEqual([])
  }))

test.each([
  ['Nine herons.', 'Nine herons.'],
  ['PASS', null],
  [' ', null],
])(
  'L6 X3: of a scheduled program the answer %j is sent as %j to who saved the schedule',
  (answer, sent) =>
    inObject(async (state) => {
      const { world } = createWorld(async (run) => {
        await begin(run)
        await run.ask()
        await run.report(ended({ answer }))
      })
      world.hub.ask('count the herons', 'scheduled')
      await live(world, state)
      expect(world.hub.commits.map(({ reply }) => reply?.content ?? null)).toEqual([sent])
    }),
)

test('X13: a write whose result is unknown ends the run when its runner is lost', () =>
  inObject(async (state) => {
    const { world, runners } = createWorld(async (run) => {
      await begin(run)
      const call = { callId: 'c1', tool: 'act', arguments: '{}', isWrite: true }
      await run.until('begin', (desk) => desk.beginCall(run.id, call, 1))
      await run.report({ kind: 'text', text: 'I am about to write.' })
      await run.until('lose', (desk) => desk.loseRun(run.id, 1, 'gone'))
    })
    world.hub.ask('@scout write')
    await live(world, state)
    expect(runners.orders).toHaveLength(1)
    expect(world.hub.commits[0]).toMatchObject({
      outcome: 'failed',
      error: { code: 'INTERRUPTED' },
    })
    expect(world.hub.commits[0]?.reply?.content).toContain('I am about to write.')
  }))

test('X9: a stopped run says what it had, its program is stopped, and open requests are charged', () =>
  inObject(async (state) => {
    let request: number | null = null
    const { world, runners } = createWorld(async (run) => {
      await begin(run)
      request = await run.admit()
      await run.report({ kind: 'text', text: 'So far, eight herons.' })
      world.shell?.cancel(run.id)
      // the gateway ends the request before its provider has counted
      await run.settle(request ?? 0, { finish: 'cancelled', usage: null })
    })
    world.hub.ask('@scout count')
    await live(world, state)
    expect(runners.stops).toEqual(['cancelled'])
    const [commit] = world.hub.commits
    expect(commit?.outcome).toBe('cancelled')
    expect(commit?.reply?.content).toContain('So far, eight herons.')
    expect(commit?.usage).toMatchObject([
      { isEstimated: true, inputTokens: 5_000, outputTokens: 200 },
    ])
  }))

test('X4 X9: what is over a limit is refused, and the program is stopped', () =>
  inObject(async (state) => {
    const { world, runners } = createWorld(async (run) => {
      await begin(run)
      await run.report({ kind: 'text', text: 'I go on and on.' })
      for (let count = 0; count < 500 && !run.isStopped; count++) {
        if (!(await run.ask({ finish: 'tool-calls' }))) break
      }
    })
    world.hub.ask('@scout loop')
    await live(world, state)
    const [commit] = world.hub.commits
    expect(commit).toMatchObject({ outcome: 'max_iterations', iterations: 10 })
    expect(commit?.usage).toHaveLength(10)
    expect(commit?.reply?.content).toContain('I go on and on.')
    expect(runners.stops).toEqual(['ended'])
  }))

test('X8 X15: a quota that is used up, at the provider or in the hub, is said in the thread', () =>
  inObject(async (state) => {
    const refused = { finish: 'error', status: 429, usage: null, mayBeCharged: false } as const
    const sayOf = async (problem: string | null, end: Parameters<typeof ended>[0] = {}) => {
      const { world } = createWorld(async (run) => {
        await begin(run)
        await run.report({ kind: 'text', text: 'So far, eight herons.' })
        if (await run.ask({ ...refused, problem })) await run.report(ended({ answer: '', ...end }))
      })
      if (problem === null) {
        const [scope, period, kind] = ['requester', 'month', 'microusd'] as const
        const shortage = { scope, period, kind, left: 0, needs: null, resetsAt: Date.UTC(2026, 11) }
        world.hub.api.renew = async () => ({
          kind: 'refused',
          reason: 'budget_exhausted',
          shortage,
        })
      }
      world.hub.ask('@scout count')
      await live(world, state)
      const [commit] = world.hub.commits
      expect(commit?.reply?.content).toContain('So far, eight herons.')
      const { refusedCall: needs } = commit ?? {}
      return { outcome: commit?.outcome, text: commit?.reply?.content ?? '', needs }
    }
    // Whether the program admits it or not.
    for (const is_success of [true, false]) {
      const provider = await sayOf('429: You exceeded your current quota.', { is_success })
      expect(provider.outcome).toBe('failed')
      expect(provider.text).toContain('the quota or credit of the account is used up')
      expect(provider.text).not.toMatch(/You exceeded|Asking me again/)
    }
    expect((await sayOf('529: Overloaded.')).text).not.toContain('quota')
    const hub = await sayOf(null)
    expect(hub.outcome).toBe('budget_exhausted')
    expect(hub.text).toContain('monthly budget of a requester is used up. It resets on 2026-12-01')
    // What the request needs, so that the budget shows why it refuses.
    expect(hub.needs?.tokens).toBeGreaterThan(1)
  }))

test.each([
  // 100 for the prompt, and 40 tokens at five each
  ['money', { microusd: 300, tokens: 1_000_000 }],
  ['tokens', { microusd: 1_000_000, tokens: 140 }],
])(
  'X4 B4: beside an open request the next one uses only the %s that is left of the budget',
  (_, left) =>
    inObject(async (state) => {
      const answers: unknown[] = []
      const { world } = createWorld(async (run) => {
        await begin(run)
        const open = await run.admit()
        const { attempt } = run.order
        const size = { promptTokens: 100, promptTokensMax: 100, outputTokens: 200 }
        const facts = { attempt, protocol: 'anthropic-messages', model: 'any', ...size } as const
        answers.push(await run.until('admit', (desk) => desk.admitRequest(run.id, facts)))
        for (const request of [open, open === null ? null : open + 1]) {
          if (request !== null) await run.settle(request)
        }
        await run.report(ended())
      })
      const { renew } = world.hub.api
      world.hub.api.renew = async (request) => {
        const answer = await renew(request)
        const { held } = request
        if (answer.kind !== 'renewed' || !held || held.tokens === 0) return answer
        const reservation = {
          microusd: held.microusd + left.microusd,
          tokens: held.tokens + left.tokens,
        }
        return { ...answer, reservation }
      }
      world.hub.ask('@scout count')
      await live(world, state)
      expect(answers).toMatchObject([{ ok: true, request: 2, outputTokens: 40 }])
    }),
)

test('X4: a request before the tools are listed, of another attempt, or after the end is refused', () =>
  inObject(async (state) => {
    const answers: unknown[] = []
    const { world } = createWorld(async (run) => {
      const size = { promptTokens: 3, promptTokensMax: 9 }
      const facts = { protocol: 'anthropic-messages', model: 'x', ...size } as const
      const ask = (over: object) =>
        run.until('admit', (desk) =>
          desk.admitRequest(run.id, { ...facts, outputTokens: null, ...over }),
        )
      await run.report(started())
      answers.push(await ask({ attempt: 7 }), await ask({ protocol: 'openai-chat' }), await ask({}))
      answers.push(await ask({}))
    })
    world.hub.ask('@scout count')
    await live(world, state)
    expect(answers).toMatchObject(
      ['not_running', 'wrong_model', 'no_tools', 'not_running'].map((reason) => ({
        ok: false,
        reason,
      })),
    )
    expect(world.hub.commits[0]).toMatchObject({ error: { code: 'NO_TOOLS' }, usage: [] })
  }))

test('L46 X2: without a runner the requester is told once, and the run begins when one is there', () =>
  inObject(async (state) => {
    const { world, runners } = createWorld(goodTurn([]))
    runners.kind = 'nobody'
    world.hub.ask('@scout count')
    const shell = world.boot(state)
    shell.wake(agentId)
    await shell.waitUntilIdle()
    const { now } = Date
    try {
      for (const minutes of [1, 2]) {
        const at = now() + minutes * (codingAgents.nobodyThereMs + 1)
        Date.now = () => at
        await shell.alarm()
        await shell.waitUntilIdle()
      }
      expect(world.hub.told).toEqual([expect.stringContaining('no runner is connected')])
      runners.kind = 'started'
      await shell.alarm()
      for (let tries = 0; tries < 200 && !world.hub.isIdle; tries++) await scheduler.wait(1)
    } finally {
      Date.now = now
    }
    expect(world.hub.commits[0]?.reply?.content).toContain('Nine herons.')
    expect(world.hub.told).toHaveLength(1)
  }))

test('C2: a comment joins after the turn of the program, which goes on in its session', () =>
  inObject(async (state) => {
    const { world, runners } = createWorld(async (run) => {
      await run.report(started({ is_resumed: run.order.session_id !== null }))
      await run.list()
      await run.ask()
      if (run.order.attempt === 1) {
        world.hub.say('and the storks')
        world.shell?.wake(agentId, { maySteer: true })
      }
      await run.report(
        ended({ answer: run.order.attempt === 1 ? 'Nine.' : 'Nine, and two storks.' }),
      )
    })
    world.hub.ask('@scout count')
    await live(world, state)
    const [first, second] = runners.orders
    expect(runners.orders).toHaveLength(2)
    expect(first?.prompt).not.toContain('storks')
    expect(second?.prompt).toContain('and the storks')
    expect(second?.session_id).toBe('s1')
    expect(world.hub.commits).toHaveLength(1)
    expect(world.hub.commits[0]?.reply?.content).toContain('Nine, and two storks.')
  }))

test('X12: the patch is stored beside the log, and the answer names branch, commit and pull request', () =>
  inObject(async (state) => {
    const changes = {
      branch: 'rookery/scout-1',
      pushed: 'a'.repeat(40),
      since: 'b'.repeat(40),
      stat: ' a.ts | 3 ++-\n 1 file changed, 2 insertions(+), 1 deletion(-)',
      patch: '+x',
    }
    const { world } = createWorld(async (run) => {
      await begin(run)
      const call = { callId: 'pr', tool: 'github_create_pull_request', arguments: '{}' }
      await run.until('begin', (desk) => desk.beginCall(run.id, { ...call, isWrite: true }, 1))
      const text = '{"number":7,"url":"https://github.com/o/n/pull/7"}'
      const result = { text, isError: false, durationMs: 1, resultBytes: 9, grant: null }
      await run.until('end', (desk) =>
        desk.endCall(run.id, 'pr', { ...result, decision: 'allowed' }),
      )
      await run.ask()
      await run.report(ended({ changes }))
    })
    world.repository = 'github/o/n'
    world.hub.ask('@scout fix it')
    await live(world, state)
    expect(world.patches).toEqual(new Map([[1, '+x']]))
    const [commit] = world.hub.commits
    expect(commit?.reply?.content).toContain(
      'Nine herons.\n\n1 file changed, 2 insertions(+), 1 deletion(-) on [`rookery/scout-1`](https://github.com/o/n/tree/rookery/scout-1) (commit `aaaaaaaaaaaa`), since `bbbbbbbbbbbb`. Pull request: <https://github.com/o/n/pull/7>',
    )
    expect(commit?.trace).toContain('"patchChars":2')
    expect(commit?.trace).not.toContain('+x')
  }))

test('X12: a patch that cannot be stored costs no answer, and a name that is none is not posted', () =>
  inObject(async (state) => {
    const { world } = createWorld(async (run) => {
      await begin(run)
      await run.ask()
      const changes = { branch: 'x](https://evil.example)', pushed: null, since: null }
      await run.report(ended({ changes: { ...changes, stat: ' a | 1 +', patch: '+x' } }))
    })
    world.patchProblem = 'The bucket is down.'
    world.hub.ask('@scout fix it')
    await live(world, state)
    const [commit] = world.hub.commits
    expect(commit?.outcome).toBe('completed')
    expect(commit?.reply?.content).not.toContain('evil')
    expect(commit?.trace).toContain('"patchChars":0')
  }))

test('X15: a further task of the thread goes on in the session and on the branch, unless an own account was used', () =>
  inObject(async (state) => {
    const { world, runners } = createWorld(async (run) => {
      await run.report(started({ is_resumed: run.order.session_id !== null }))
      await run.list()
      if (runners.orders.length === 2) {
        const call = { callId: 'own', tool: 'look', arguments: '{}', isWrite: false }
        await run.until('begin', (desk) => desk.beginCall(run.id, call, 1))
        const result = { text: 'mine', isError: false, durationMs: 1, resultBytes: 4, grant: null }
        await run.until('end', (desk) =>
          desk.endCall(run.id, 'own', { ...result, decision: 'allowed', isOwnAccount: true }),
        )
      }
      await run.ask()
      await run.report(ended())
    })
    world.repository = 'github/o/n'
    for (const words of ['@scout fix it', '@scout and the tests', '@scout and the docs']) {
      world.hub.ask(words)
      await live(world, state)
    }
    expect(runners.orders.map(({ session_id }) => session_id)).toEqual([null, 's1', null])
    const branches = runners.orders.map(({ workspace }) => workspace?.branch)
    expect(branches).toEqual([branches[0], branches[0], branches[0]])
    expect(branches[0]).toMatch(/^rookery\/scout-/)
    expect(world.hub.commits.map(({ outcome }) => outcome)).toEqual(Array(3).fill('completed'))
  }))
