import { describe, expect, test } from 'vitest'
import { createOfflineModel } from '../../../src/agents/models/offline/offline-model'
import { firstQuestions } from '../../../src/shared/starter-agent'
import { allTools, converse } from './converse'
import { newcomerQuestions } from './newcomer-questions'
import { hubOf, type Post } from './small-hub'

const model = createOfflineModel()
const comment = (author: string, content: string) => ({
  id: `${author}-${content}`,
  author,
  content,
})

/** The first week of an invented bakery. */
const bakery: Post[] = [
  {
    id: 'oven',
    title: 'A second oven',
    content: 'The Miwe costs 8,900 € and the Wiesheu 7,400 €. The seal of the old oven leaks.',
    comments: [
      comment('otto', 'The Wiesheu is louder.'),
      comment('ada', 'Decided: we take the Miwe, it comes on 3 March.'),
    ],
  },
  {
    id: 'hours',
    title: 'Opening hours',
    content: 'On Sunday we open from 8:00 to 11:00.',
    comments: [comment('otto', 'Correction: on Sunday we open at 7:30.')],
  },
  {
    id: 'rye',
    title: 'Where the rye comes from',
    content: 'The rye comes from the mill in Lund.',
    comments: [comment('ada', 'Who calls the mill?'), comment('otto', 'Mira, on Mondays.')],
  },
  {
    id: 'spare',
    title: 'Spare key',
    content: 'The spare key hangs in the cellar. Agents of the insurer cost us a lot of time.',
  },
  { id: 'asked', title: 'The moon', content: '@scout why is the moon made of rye?' },
]
const ask = (question: string) => converse(model, `@scout ${question}`, hubOf(bakery), allTools)

describe('what a newcomer asks about the hub', () => {
  test.each(newcomerQuestions)('L27: %s', async (question, page) => {
    const { text } = await ask(question)
    expect(text).toContain(page && `](${page})`)
    expect(text).not.toMatch(/^>|nothing fits/m)
  })

  test.each(Object.values(firstQuestions))('L27: proposed by the hub: %s', async (question) => {
    expect((await ask(question)).text).not.toMatch(/^>|nothing fits/m)
  })
})

describe('what stands before the mention', () => {
  const leads = [
    'We moved here from Slack last week.',
    'The bakery is busy today.',
    'Sorry for the noise!',
  ]
  test.each(leads)('L27: %s', async (lead) => {
    for (const [question, page] of newcomerQuestions) {
      // Who asks for help says before with what.
      if (/help|hello/i.test(question)) continue
      const { text } = await converse(model, `${lead} @scout ${question}`, hubOf(bakery), allTools)
      expect(text).toContain(page && `](${page})`)
      expect(text).not.toMatch(/^>|nothing fits/m)
    }
    const asked = `${lead} @scout what did we decide about the oven?`
    const { text } = await converse(model, asked, hubOf(bakery), allTools)
    expect(text).toContain('> Decided: we take the Miwe')
  })

  test.each([
    'What did we decide about the oven, @scout? Thanks in advance!',
    'What did we decide about the oven? @scout',
    'What did we decide about the oven?\n\n@scout thanks!',
    'The oven: what did we decide? @scout can you help?',
  ])('L27: what is asked there is answered: %s', async (asked) => {
    const { text } = await converse(model, asked, hubOf(bakery), allTools)
    expect(text).toContain('> Decided: we take the Miwe')
  })
})

describe('what a newcomer asks about what was written', () => {
  test.each([
    ['what did we decide about the oven?', '> Decided: we take the Miwe'],
    ['which oven do we take?', '> Decided: we take the Miwe'],
    ['how much is the Wiesheu?', '7,400 €'],
    ['when do we open on Sunday?', '> Correction: on Sunday we open at 7:30.'],
    ['who calls the mill?', '> Mira, on Mondays.'],
    ['where is the spare key?', '> The spare key hangs in the cellar.'],
    ['what did we decide about agents of the insurer?', '> The spare key hangs in the cellar.'],
  ])('L27: %s', async (question, quoted) => {
    expect((await ask(question)).text).toContain(quoted)
  })

  test.each([
    'Why did the chicken cross the road?',
    'what is the capital of Peru?',
    'why is the moon made of cheese?',
  ])('L27: nothing fits, and it says what it can do: %s', async (question) => {
    const { text } = await ask(question)
    expect(text).toContain('nothing fits')
    expect(text).toContain('What can you do?')
    expect(text).not.toMatch(/^>|\/p\/asked/m)
  })
})

test('L27: a name in a list of posts keeps its @ and wakes nobody, and what was said to the agent is no news', async () => {
  const posts: Post[] = [
    { id: 'new', title: 'Ask', content: 'Write @ and the name, or ask @ada about the oven.' },
    { id: 'thanks', title: 'Thanks', content: '@scout thanks a lot!' },
  ]
  const { text } = await converse(model, '@scout what is new?', hubOf(posts), allTools)
  expect(text).toContain(': Write @ and the name, or ask `@ada` about the oven.')
  expect(text).not.toContain('/p/thanks')
})
