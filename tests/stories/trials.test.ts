import { abortAllDurableObjects } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import {
  adminKey,
  call,
  createAccount,
  post,
  pushDefinition,
  scoutFiles,
  waitForReply,
  waitForValue,
} from '../support/cast'
import { waitForActivation } from '../support/create-agent'

/** A set of runs that is tried through the whole hub, with the offline model. */
let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

const ask = async <Body>(method: string, path: string, body?: object): Promise<Body> => {
  const answer = await call<Body>(method, `/api/v1${path}`, {
    key: adminKey,
    ...(body && { body }),
  })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

interface Trial {
  id: string
  status: string
  claim: string
  same: number
  reused: number
  cost_microusd: number
  cases: { verdict: string | null; by: string | null; candidate: { answer: string } | null }[]
}

/** Runs a trial to its end. @param wait what happens while it is looked at */
async function runTrial(set: string, files: object, wait = async () => {}): Promise<Trial> {
  const { trial } = await ask<{ trial: Trial }>('POST', `/sets/${set}/trials`, {
    files,
    repeats: 2,
  })
  return waitForValue(async () => {
    await wait()
    const { trial: found } = await ask<{ trial: Trial }>('GET', `/trials/${trial.id}`)
    return found.status === 'done' ? found : null
  }, 'the end of the trial')
}

const toResult = ({ id: _, cases, ...trial }: Trial) => ({
  status: trial.status,
  claim: trial.claim,
  same: trial.same,
  cost: trial.cost_microusd,
  cases: cases.map(({ verdict, by, candidate }) => [verdict, by, candidate?.answer]),
})

test('P3 P10 P11: with the offline model a trial of an equal draft is the same each time, also when all objects stop in between', async () => {
  await post(mira.key, 'Herons', 'Herons nest in the reeds, as we decided to count them in May.')
  const files = scoutFiles()
  await pushDefinition('scout', files)
  const { set } = await ask<{ set: { id: string } }>('POST', '/agents/scout/sets', {
    name: 'Birds',
  })
  for (const question of ['where do herons nest?', 'when do we count herons?', 'what of owls?']) {
    const asked = await post(mira.key, 'A question', `@scout ${question}`)
    await waitForReply(asked, 'scout')
    const { id } = await waitForActivation(asked)
    await ask('POST', `/sets/${set.id}/cases`, { activation_id: id })
  }
  const posts = () => env.DB.prepare('SELECT count(*) AS n FROM comments').first<number>('n')
  const before = await posts()
  const one = await runTrial(set.id, files)
  expect(toResult(one)).toMatchObject({ status: 'done', claim: 'same', same: 3, cost: 0 })
  expect(one.cases.every(({ candidate }) => candidate?.answer)).toBe(true)
  let stops = 0
  const other = await runTrial(set.id, files, async () => {
    if (stops++ < 3) await abortAllDurableObjects()
  })
  expect(toResult(other)).toEqual(toResult(one))
  // each sample of the active definition has run once, whatever stopped
  expect([one.reused, other.reused]).toEqual([0, 3 * 2])
  expect(await posts()).toBe(before)
  const lanes = await env.DB.prepare(
    `SELECT state, count(*) AS n FROM replay_lanes GROUP BY state`,
  ).all()
  expect(lanes.results).toEqual([{ state: 'done', n: 2 * 3 * 4 }])
})
