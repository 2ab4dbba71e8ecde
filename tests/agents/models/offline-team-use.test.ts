import { describe, expect, test } from 'vitest'
import { createOfflineModel } from '../../../src/agents/models/offline/offline-model'
import { allTools, converse, inThread, type Text } from './converse'
import { hubOf, type Post } from './small-hub'

const model = createOfflineModel()
const ask = (text: string, posts: Post[]) =>
  converse(model, `@scout ${text}`, hubOf(posts), allTools)

describe('questions that repeat', () => {
  const question = 'Who is the foreman of the kiln?'
  const plan: Post = {
    id: 'plan',
    title: 'Kiln plan',
    content: 'Marek is the foreman of the kiln until 8 December.',
    created_at: '2026-11-01T00:00:00Z',
  }
  const correction: Post = {
    id: 'correction',
    title: 'Kiln',
    content: 'Correction: Petra is the foreman.',
    created_at: '2026-11-02T00:00:00Z',
  }
  const asked = (count: number, comments: Post['comments'] = []): Post[] =>
    Array.from({ length: count }, (_, at) => ({
      id: `asked${at}`,
      title: `@scout ${question}`,
      content: `@scout ${question}`,
      created_at: `2026-11-03T00:00:${10 + at}Z`,
      comments: [
        {
          id: `answer${at}`,
          author: 'scout',
          author_kind: 'agent',
          content: '[Kiln plan](/p/plan) says:\n\n> Marek is the foreman of the kiln.',
        },
        ...comments,
      ],
    }))

  test.each([
    [0, false],
    [1, false],
    [3, false],
    [12, false],
    [1, true],
    [30, true],
  ])('L27: after %d times the correction is quoted; ranked last: %s', async (count, isLast) => {
    const hub = hubOf([...asked(count), plan, correction], isLast ? /@scout|\/p\// : undefined)
    const { text, calls } = await converse(model, `@scout ${question}`, hub, allTools)
    expect(text).toContain('> Correction: Petra is the foreman.')
    for (const id of ['plan', 'correction'])
      expect(calls).toContain(`hub_get_thread {"post_id":"${id}"}`)
    expect(calls.length).toBeLessThanOrEqual(9)
  })

  test('L27: threads that turn out to hold only answers of agents are replaced', async () => {
    const unclear = asked(3).map((post) => ({ ...post, title: 'Kiln', content: 'Who knows it?' }))
    const { text } = await ask(question, [...unclear, plan, correction])
    expect(text).toContain('> Correction: Petra is the foreman.')
  })

  test('L27: a person’s answer to such a question is quoted', async () => {
    const said = { id: 'said', author: 'ada', content: 'The foreman of the kiln is Otto.' }
    const { text } = await ask(question, [...asked(3).slice(1), ...asked(1, [said])])
    expect(text).toContain('> The foreman of the kiln is Otto.')
  })
})

describe('a summary of what holds no statement', () => {
  const question = '@scout who is the foreman?'
  const answer: Text = ['scout', 'Nothing fits.', 'agent']
  test.each<[string, Text[], RegExp]>([
    [
      'thanks are no content',
      [['ada', question], answer, ['ada', 'thank you']],
      /no statement of people.*\n\n- ada: who is the foreman\?\n\nscout answered/,
    ],
    [
      'nor is praise',
      [
        ['ada', 'Perfect!'],
        ['otto', 'Thanks Ada'],
        ['ada', 'cool'],
      ],
      /^This thread has no statement of people to list\.$/,
    ],
    ['a day that is agreed to is', [['ada', 'OK, Friday.']], /- ada: OK, Friday/],
    [
      'nor are greetings',
      [
        ['ada', 'Hello everyone!'],
        ['otto', 'Hi!'],
      ],
      /^This thread has no statement of people to list\.$/,
    ],
    [
      'what was asked, and who answered',
      [
        ['ada', question],
        answer,
        ['lookout', 'See [it](/p/it).', 'agent'],
        ['ada', 'Thanks, that helps a lot!'],
      ],
      /no statement of people.*\n\n- ada: who is the foreman\?\n\nscout and lookout answered/,
    ],
    [
      'a name in a question wakes nobody',
      [['ada', '@scout who is it, @otto?'], answer],
      /- ada: who is it, `@otto`\?\n/,
    ],
    [
      'thanks with news are content',
      [['ada', 'Thanks! The kiln arrives on Monday.']],
      /- ada: .*Monday/,
    ],
  ])('L27: %s', async (_, texts, expected) => {
    const task = inThread('Foreman', [...texts, ['mira', '@scout Summarize this thread']])
    expect((await converse(model, task, hubOf([]), allTools)).text).toMatch(expected)
  })
})

describe('which agents there are', () => {
  test.each([
    'Which agents are there?',
    'Which agents can I ask?',
    'what agents do we have?',
    'list the agents',
    'Who are the agents here?',
  ])('L27: %s', async (question) => {
    const task = inThread('Agents', [
      ['ada', '@lookout where is the clay?'],
      ['lookout', 'In the cellar.', 'agent'],
      ['ada', `@scout ${question}`],
    ])
    const { text } = await converse(model, task, hubOf([]), allTools)
    expect(text).toContain('[Agents](/agents)')
    expect(text).toContain('scout and lookout')
    expect(text).not.toContain('@scout')
  })
})

describe('how a question is put', () => {
  const posts: Post[] = [
    { id: 'backups', title: 'Backups', content: 'Backups are made nightly at 02:30 by Ines.' },
    { id: 'halden', title: 'Customers', content: 'Halden pays every month and wants a new oven.' },
    { id: 'staging', title: 'Servers', content: 'The staging server is in Oslo.' },
    { id: 'lunch', title: 'Lunch', content: 'Lunch is at 12:00 and Otto makes it.' },
  ]
  test.each([
    ['Who makes the backups?', /> Backups are made/],
    ['Who makes the backups and when?', /> Backups are made/],
    ['When are backups made?', /> Backups are made/],
    ['What about Halden?', /> Halden pays/],
    ['Tell me about Halden', /> Halden pays/],
    ['tell me about Halden.', /> Halden pays/],
    ['What do we know about staging?', /> The staging server/],
    ['what is known about staging', /> The staging server/],
    ['Who makes the sails?', /nothing fits/],
  ])('L27: %s', async (question, expected) => {
    expect((await ask(question, posts)).text).toMatch(expected)
  })
})

describe('a question that follows an answer', () => {
  const posts: Post[] = [
    { id: 'fair', title: 'Winter fair', content: 'The winter fair is on 12 December in Lund.' },
    { id: 'kiln', title: 'Kiln', content: 'The kiln arrives on Monday.' },
  ]
  const answered: Text[] = [
    ['ada', '@scout where is the winter fair?'],
    ['scout', '[Winter fair](/p/fair) by otto says:\n\n> The winter fair is in Lund.', 'agent'],
  ]
  test.each<[string, Text[], RegExp]>([
    ['And when is it?', answered, /> The winter fair is on 12 December/],
    ['and where?', answered, /> The winter fair is on 12 December/],
    ['And when is it?', [['ada', 'Good morning.']], /no word.*Name the subject/],
  ])('L27: %s', async (question, texts, expected) => {
    const task = inThread('Some questions', [...texts, ['ada', question]])
    expect((await converse(model, task, hubOf(posts), allTools)).text).toMatch(expected)
  })
})
