import { describe, expect, test } from 'vitest'
import type { Message } from '../../../src/agents/loop/message'
import { createOfflineModel } from '../../../src/agents/models/offline/offline-model'
import { allTools, askingMessages, converse, inThread } from './converse'
import { hubOf, type Post } from './small-hub'

const model = createOfflineModel()
const ask = (text: string, posts: Post[]) =>
  converse(model, `@scout ${text}`, hubOf(posts), allTools)
const comment = (author: string, content: string, author_kind = 'human') => ({
  id: `${author}-${content.length}`,
  author,
  content,
  author_kind,
})
const kiln: Post = { id: 'kiln', title: 'Which kiln for the pottery?', content: '' }

describe('what may be quoted', () => {
  const cases: {
    rule: string
    comments: Post['comments']
    content?: string
    quoted: string
    never: string
  }[] = [
    {
      rule: 'no question of people',
      comments: [
        comment('otto', 'Which kiln do others use for pottery?'),
        comment('ada', 'The kiln is a Rohde.'),
      ],
      quoted: '> The kiln is a Rohde.',
      never: 'do others use',
    },
    {
      rule: 'no question to an agent, and no answer of one',
      comments: [
        comment('otto', '@lookout which kiln for the pottery?'),
        comment('lookout', 'The kiln for the pottery is a Nabertherm.', 'agent'),
        comment('ada', 'The kiln is a Rohde.'),
      ],
      quoted: '> The kiln is a Rohde.',
      never: 'Nabertherm',
    },
    {
      rule: 'no report of an agent that nobody asked',
      comments: [
        comment('lookout', 'Kiln for the pottery: see [old](/p/old) for a Nabertherm.', 'agent'),
        comment('ada', 'The kiln is a Rohde.'),
      ],
      quoted: '> The kiln is a Rohde.',
      never: 'Nabertherm',
    },
    {
      rule: 'a person who was asked',
      comments: [
        comment('otto', '@ada which kiln do you use?'),
        comment('ada', 'The pottery kiln is a Rohde.'),
      ],
      quoted: '> The pottery kiln is a Rohde.',
      never: 'do you use',
    },
    {
      rule: 'a decision before talk, however many words the talk shares',
      comments: [
        comment('ada', 'A pottery needs a kiln, and which kiln a pottery needs is hard.'),
        comment('otto', 'Decided: we take the Rohde.'),
      ],
      quoted: '> Decided: we take the Rohde.',
      never: 'is hard',
    },
    {
      rule: 'the later of two decisions',
      comments: [comment('ada', 'We take the Rohde.'), comment('otto', 'We take the Skutt.')],
      quoted: '> We take the Skutt.',
      never: 'Rohde',
    },
    {
      rule: 'no quotation of others',
      comments: [
        comment('ada', '> the kiln for the pottery is a Nabertherm\n\nThe kiln is a Rohde.'),
      ],
      quoted: '> The kiln is a Rohde.',
      never: 'Nabertherm',
    },
  ]
  test.each(cases)('L27: $rule', async ({ comments, quoted, never }) => {
    const { text } = await ask('which kiln do we use for the pottery?', [
      { ...kiln, comments: comments ?? [] },
    ])
    expect(text).toContain(quoted)
    expect(text.replaceAll(kiln.title ?? '', '')).not.toContain(never)
  })
})

describe('where a passage ends, and how Markdown is quoted', () => {
  const cases = [
    {
      rule: 'not before the price',
      content: 'Decided: the clay comes from Witgert. Cost: 15 € a bag.',
      quoted: '> Decided: the clay comes from Witgert. Cost: 15 € a bag.',
    },
    {
      rule: 'a table row is its columns and values',
      content: '| clay | price |\n| --- | --- |\n| Witgert | 15 € |\n| Sibelco | 22 € |',
      asked: 'what does clay of Sibelco cost?',
      quoted: '> clay: Sibelco; price: 22 €',
      never: '|',
    },
    {
      rule: 'a link is its text',
      content: 'The clay is at [the shop](https://shop.example/clay) in town.',
      quoted: '> The clay is at the shop in town.',
      never: 'shop.example',
    },
    {
      rule: 'a list stays with the line before it',
      content: 'We need for the clay:\n\n- a bucket\n- a sieve',
      quoted: '> We need for the clay:  \n> a bucket  \n> a sieve',
    },
    {
      rule: 'an abbreviation ends no sentence',
      content: 'Mrs. Kern brings the clay on 3 May.',
      quoted: '> Mrs. Kern brings the clay on 3 May.',
    },
    {
      rule: 'a time may end one',
      content: 'The clay arrives until 11:30. Bring gloves.',
      quoted: '> The clay arrives until 11:30. Bring gloves.',
    },
  ]
  test.each(cases)(
    'L27: $rule',
    async ({ content, asked = 'where do we get the clay?', quoted, never = '\u0000' }) => {
      const { text } = await ask(asked, [{ id: 'clay', title: 'Clay', content }])
      expect(text).toContain(quoted)
      expect(text).not.toContain(never)
    },
  )
})

describe('words', () => {
  const glaze = (content: string): Post[] => [{ id: 'glaze', title: 'Studio', content }]
  test.each([
    ['what was the decision on the glaze?', 'We decided on celadon for the glaze.'],
    ['how much is the glaze?', 'The glaze costs 9 € a jar.'],
    ['who sells the glaze?', 'Otto sells the glaze on Sundays.'],
    ['what is a celadonn glaze?', 'A celadon glaze is pale green.'],
    ['wann kommt die Glasur?', 'Die Glasur kommt am 3. Mai.'],
    ['¿dónde compramos el esmalte?', 'Compramos el esmalte en Botz, cerca del taller.'],
  ])('L27: %s', async (question, content) => {
    const { text } = await ask(question, glaze(content))
    expect(text).toContain(`> ${content}`)
  })

  test('L27: one word of several is no answer', async () => {
    const { text } = await ask('do we have insurance rules for porcelain?', [
      { id: 'p', title: 'Shelf', content: 'The porcelain stands on the upper shelf.' },
    ])
    expect(text).toContain('nothing fits')
    expect(text).not.toMatch(/^>/m)
  })

  test('L27: the nearest posts hold no question to an agent', async () => {
    const { text } = await ask('which shelf holds the capital of Peru?', [
      { id: 'asked', title: 'Peru?', content: '@scout what is the capital of Peru?' },
      { id: 'shelf', title: 'Shelf', content: 'The shelf is full.' },
    ])
    expect(text).toContain('(/p/shelf)')
    expect(text).not.toContain('(/p/asked)')
  })

  test('L27: when nothing fits, the three nearest titles are linked and nothing is quoted', async () => {
    const posts = ['one', 'two', 'three', 'four'].map((id) => ({
      id,
      title: `Shelf ${id}`,
      content: 'The shelf is full.',
    }))
    const { text } = await ask('which shelf holds the capital of Peru?', posts)
    expect(text).toContain('nothing fits')
    expect(text.match(/\(\/p\/\w+\)/g)).toHaveLength(3)
    expect(text).not.toMatch(/^>/m)
    expect(text).toContain('[/models](/models)')
  })
})

describe('what is no search', () => {
  const now = '2026-03-05T12:00:00.000Z'
  const status: Message = {
    role: 'user',
    text: `[status]\nTime: ${now}. Left for this task: 9 more steps, 9 tokens, 9 s.`,
  }
  const posts: Post[] = [
    {
      id: 'new',
      title: 'Kiln is hot',
      content: 'It reached 1,200 degrees. More later.',
      created_at: '2026-03-05T08:00:00Z',
    },
    {
      id: 'asked',
      title: 'a kiln?',
      content: '@scout is the kiln hot?',
      created_at: '2026-03-05T09:00:00Z',
    },
    {
      id: 'old',
      title: 'Kiln ordered',
      content: 'It comes by ship.',
      created_at: '2026-02-01T08:00:00Z',
    },
  ]
  const none: string[] = []
  const news = ['hub_get_feed', 'hub_discover']
  test.each([
    ['hello!', /^I am Scout/, none],
    ['Guten Morgen', /^I am Scout/, none],
    ['thanks, that helps', /^You are welcome/, none],
    ['who are you?', /^I am Scout/, none],
    ['are you a bot?', /^I am Scout/, none],
    ['help', /Summarize this thread/, none],
    ['what can you do?', /Summarize this thread/, none],
    ['17*23', /^I quote what was written.*\/models/, none],
    ['what is 2 + 2?', /^I quote what was written/, none],
    ['12% of 9,800?', /^I quote what was written/, none],
    ['What is 17 times 23?', /^I quote what was written/, none],
    ['write a haiku about kilns', /^I quote what was written/, none],
    ['how many posts are there?', /^I quote what was written/, none],
    ['how many members are here?', /^I quote what was written/, none],
    [
      'what is new today?',
      /^The newest posts:\n\n- \[Kiln is hot\]\(\/p\/new\).*: It reached/,
      news,
    ],
    ['summarize this week', /^The newest posts:\n\n- \[Kiln is hot\]/, news],
  ])('L27: %s', async (text, expected, names) => {
    const messages = [...askingMessages(`@scout ${text}`), status]
    const answer = await converse(model, messages, hubOf(posts), allTools)
    expect(answer.text).toMatch(expected)
    expect(answer.calls.map((call) => call.split(' ')[0])).toEqual(names)
    expect(answer.text).not.toContain('/p/old')
    expect(answer.text).not.toContain('/p/asked')
  })

  test('L27: nothing new is said so', async () => {
    const messages = [...askingMessages('@scout what is new today?'), status]
    const { text } = await converse(model, messages, hubOf(posts.slice(2)), allTools)
    expect(text).toMatch(/^No post is that new\..*\n\n- \[Kiln ordered\]/)
  })
})

describe('in a thread', () => {
  const title = 'Rent of the studio'
  const price: [string, string][] = [
    ['ada', 'The studio is cheap.'],
    ['otto', 'Decided: we take it. The rent is 300 € a month.'],
  ]

  test('L27: its own texts come before those of other threads', async () => {
    const elsewhere = hubOf([
      { id: 'x', title: 'Rent of the studio', content: 'We pay 900 € for the studio.' },
    ])
    const task = inThread(title, [...price, ['new', '@scout how much do we pay?']])
    const { text } = await converse(model, task, elsewhere, allTools)
    expect(text).toMatch(/^otto says in this thread:\n\n> Decided/)
  })

  test('L27: a correction replaces what it corrects', async () => {
    const task = inThread(title, [
      ...price,
      ['ada', 'Correction: it is 320 € since May.'],
      ['new', '@scout how much do we pay now?'],
    ])
    const { text } = await converse(model, task, hubOf([]), allTools)
    expect(text).toMatch(/^ada says in this thread:\n\n> Correction: it is 320 €/)
    expect(text).not.toContain('300')
  })

  test('L27: the words of the requester are no answer to the requester', async () => {
    const task = inThread(title, [
      ['new', 'I think the rent is 300 €.'],
      ['new', '@scout how much is the rent?'],
    ])
    const { text } = await converse(model, task, hubOf([]), allTools)
    expect(text).toContain('nothing fits')
  })

  test('L27: a correction is acknowledged, and nothing is quoted against it', async () => {
    const task = inThread(title, [...price, ['new', '@scout no, that is wrong, it is 320 €.']])
    const { text, calls } = await converse(model, task, hubOf([]), allTools)
    expect(text).toMatch(/^Thank you for the correction/)
    expect(calls).toEqual([])
  })

  test('L27: a summary has a line of each statement, and none of agents', async () => {
    const task = inThread(title, [
      ...price,
      ['lookout', 'Rents are high, says [a post](/p/1).', 'agent'],
      ['new', '@scout summarize this thread'],
    ])
    const { text, calls } = await converse(model, task, hubOf([]), allTools)
    expect(calls).toEqual([])
    expect(text).toContain('- ada: The studio is cheap.\n- otto: Decided: we take it.')
    expect(text).not.toContain('lookout')
  })

  test('L27: a later thread that says what has changed comes before an earlier one', async () => {
    const { text } = await ask('how long do we keep the glaze samples?', [
      {
        id: 'first',
        title: 'Glaze samples',
        content: 'Decided: we keep the glaze samples for 90 days.',
        created_at: '2026-01-01T00:00:00Z',
      },
      {
        id: 'later',
        title: 'Too many samples',
        content: 'The shelf is full of samples. From now on we keep them for 14 days.',
        created_at: '2026-02-01T00:00:00Z',
      },
    ])
    expect(text).toContain('14 days')
    expect(text).not.toContain('90 days')
  })
})
