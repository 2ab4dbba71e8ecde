import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createDb } from '../../../src/shared/db/db'
import { toDeployedEnv } from '../../support/platform-env'
import {
  countSubrequest,
  createInvocation,
  freePlan,
  paidPlan,
  runInScope,
  runInvocation,
} from '../../support/platform-invocation'

const deployed = toDeployedEnv(env as Env)
const tooMany = 'Too many subrequests.'
const repeat = (times: number, action: () => void) => {
  for (let done = 0; done < times; done++) action()
}

test('faults: an invocation is refused its 51st subrequest on the free plan, its 10,001st on the paid plan', () => {
  const send = (times: number) => () => repeat(times, () => countSubrequest('binding'))
  runInvocation(send(50), freePlan)
  expect(() => runInvocation(send(51), freePlan)).toThrow(tooMany)
  runInvocation(send(10_000), paidPlan)
  expect(() => runInvocation(send(10_001), paidPlan)).toThrow(tooMany)
})

test('faults: each call of D1, R2, a rate limiter and an object is a subrequest, and a batch is one', async () => {
  const scope = { current: createInvocation('test'), limits: paidPlan }
  await runInScope(scope, async () => {
    const { d1 } = createDb(deployed.DB)
    await d1.batch([d1.prepare('SELECT 1'), d1.prepare('SELECT 2')])
    await deployed.FILES.put('limits/a', 'text')
    expect(await (await deployed.FILES.get('limits/a'))?.text()).toBe('text')
    expect(await deployed.RATE_READ.limit({ key: 'limits' })).toEqual({ success: true })
    await deployed.LIVE.getByName('limits').disconnect([])
    await deployed.RATE_COUNTERS.get(deployed.RATE_COUNTERS.idFromName('limits')).recordFailure(
      { requests: 1, periodMs: 1 },
      0,
    )
  })
  expect(scope.current).toEqual({ name: 'test', queries: 2, subrequests: 6, fetches: 0 })
})

test('faults: what is refused is not sent', async () => {
  const limits = { ...paidPlan, subrequestsMax: 0 }
  const puts = runInvocation(() => deployed.FILES.put('limits/refused', 'text'), limits)
  await expect(puts).rejects.toThrow(tooMany)
  expect(await env.FILES.head('limits/refused')).toBeNull()
  const asked = runInvocation(() => deployed.LIVE.getByName('limits').disconnect([]), limits)
  await expect(asked).rejects.toThrow(tooMany)
})

test('faults: invocations count apart, also when they run at the same time', async () => {
  const send = async () => {
    repeat(30, () => countSubrequest('binding'))
    await scheduler.wait(1)
    repeat(20, () => countSubrequest('binding'))
  }
  await Promise.all([1, 2, 3].map(() => runInvocation(send, freePlan)))
})
