// What passengers ask at the counter: Tide answers from the house rules, and whether a cheaper model would do is tried
// on its answers.
import { demand } from '../hub-client.mjs'
import { agents, models } from './team.mjs'
import { answer, search } from './threads.mjs'

/** What Tide answers from. */
const rules = `Dogs travel free on a leash, and not in the saloon.
Bicycles cost 3, on Gull only, at most twelve.
Under 6 free, under 16 half price.
A lost ticket is not replaced; a season ticket is, for 5.
Cancelled by us: the full fare back within a week. Missed: nothing back.
Groups of ten or more get a fifth off when they book the day before.
Wheelchairs board by the ramp at Quay; at Island please call an hour before.
Luggage up to 30 kg is free. Surfboards count as bicycles.
Lost property is kept for four weeks at the office at Quay.
The cafe on Heron closes at 18:00. Gull has none.
Gates close three minutes before departure.
The school ticket is valid on weekdays until 17:00.`

/**
 * `cheaper`: what the cheaper model makes of it; the same unless given. `fact`: what a right answer has.
 * @typedef {{ asks: string, says: string, cheaper?: string, fact: string, note?: string }} Question
 */

/** @type {Question[]} */
const questions = [
  {
    asks: 'may a dog come along, and what does it cost?',
    says: 'Yes, free and on a leash. Only the saloon is closed to dogs.',
    fact: 'free',
  },
  {
    asks: 'somebody wants to take two bicycles on Heron at noon.',
    says: 'Not on Heron: bicycles travel on Gull only, for 3 each.',
    cheaper: 'Yes, bicycles cost 3 each.',
    fact: 'Gull',
    note: 'Heron takes no bicycles.',
  },
  {
    asks: 'a child of five, which fare?',
    says: 'Free: children under 6 pay nothing.',
    fact: 'free',
  },
  {
    asks: 'a passenger lost her season ticket. Is it replaced?',
    says: 'Yes, a season ticket is replaced for 5. A single ticket is not.',
    fact: '5',
  },
  {
    asks: 'we cancelled the 11:30 on Friday. What do people get back?',
    says: 'The full fare, within a week.',
    fact: 'full fare',
  },
  {
    asks: 'a choir of fourteen wants to go tomorrow. Any discount?',
    says: 'A fifth off, if they book today: groups of ten or more book the day before.',
    cheaper: 'Groups of ten or more get a discount.',
    fact: 'a fifth',
  },
  {
    asks: 'how does a wheelchair get on board at Island?',
    says: 'At Island please call an hour before. At Quay there is a ramp.',
    fact: 'an hour before',
  },
  {
    asks: 'is a surfboard luggage?',
    says: 'I found nothing about surfboards.',
    cheaper: 'No, a surfboard counts as a bicycle: 3, on Gull only.',
    fact: 'bicycle',
    note: 'It is in the rules: surfboards count as bicycles.',
  },
  {
    asks: 'where is an umbrella that was left on Sunday?',
    says: 'Lost property is at the office at Quay, for four weeks.',
    fact: 'Quay',
  },
  {
    asks: 'until when is there coffee on Gull?',
    says: 'Never: Gull has no cafe. The one on Heron closes at 18:00.',
    fact: 'no cafe',
  },
  {
    asks: 'when do the gates close for the 8:15?',
    says: 'At 8:12, three minutes before departure.',
    fact: '8:12',
  },
  {
    asks: 'can a pupil use the school ticket on Saturday?',
    says: 'No, it is valid on weekdays only, until 17:00.',
    fact: 'weekdays',
  },
]

/** @param {Question} question */
const toComment = ({ asks, says, cheaper, fact, note }) => {
  const call = search('house rules passengers')
  return {
    by: 'tomas',
    text: `@tide ${asks}`,
    agent: 'tide',
    answer: {
      ...answer(says, 40, call),
      ...(cheaper && { byModel: { [models.tiny]: answer(cheaper, 30, call).turns } }),
    },
    rating: {
      by: 'tomas',
      value: /** @type {'up' | 'down'} */ (says.includes(fact) ? 'up' : 'down'),
      note: note ?? '',
    },
  }
}

/** @type {import('./threads.mjs').Day[]} */
export const counterDays = [
  {
    ago: 20,
    posts: [
      { in: 'passengers', by: 'tomas', title: 'House rules for passengers', text: rules },
      {
        in: 'passengers',
        by: 'tomas',
        title: 'What people ask at the counter',
        text: 'I ask here while they wait. Tide has the house rules.',
        comments: questions.map(toComment),
      },
    ],
  },
]

const setName = 'Questions at the counter'

/**
 * Makes a set of Tide's answers and tries on it whether a cheaper model would do.
 * @param {import('./move-back.mjs').Database} db
 * @param {import('../../client/index.ts').HubClient} admin
 * @param {(isReached: () => Promise<boolean>) => Promise<void>} waitUntil
 */
export async function tryCheaper(db, admin, waitUntil) {
  const tide = agents.find(({ name }) => name === 'tide')
  if (!tide) throw new Error('The story has no agent named tide.')
  const params = { name: tide.name }
  const { set } = await demand(
    admin.call('POST /agents/:name/sets', { params, body: { name: setName } }),
  )
  const { results } = await db
    .prepare(
      `SELECT x.id FROM activations x JOIN accounts a ON a.id = x.agent_id WHERE a.name = ? ORDER BY x.started_at`,
    )
    .bind(tide.name)
    .all()
  for (const [index, { fact, note = '' }] of questions.entries()) {
    const checks = [{ type: /** @type {const} */ ('contains'), value: fact }]
    const body = { activation_id: String(results[index]?.id), checks, note }
    await demand(admin.call('POST /sets/:id/cases', { params: { id: set.id }, body }))
  }
  const config = String(tide.files['config.yaml']).replace(models.mini, models.tiny)
  const body = { files: { ...tide.files, 'config.yaml': config } }
  const { trial } = await demand(
    admin.call('POST /sets/:id/trials', { params: { id: set.id }, body }),
  )
  await waitUntil(async () => {
    const { trial: now } = await demand(admin.call('GET /trials/:id', { params: { id: trial.id } }))
    return now.status === 'done'
  })
}
