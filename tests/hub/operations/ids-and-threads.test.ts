import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { limits } from '../../../src/shared/config'
import { sampleSize } from '../../support/sample'
import { createTestHub } from '../create-test-hub'
import { comment, createImporter, reasonsOf, type Tree } from './import-thread'

const hub = createTestHub()
const { send, readTree, importThread } = createImporter(hub)

describe('ids', () => {
  test.each([
    ['two beyond 2^53', '9007199254740992', '9007199254740993'],
    ['snowflakes', '1161888007138312192', '1161888007138312193'],
    ['negative ones', '-9007199254740993', '-9007199254740994'],
    ['thirty digits', '100000000000000000000000000001', '100000000000000000000000000002'],
  ])('H19: numbers that JSON.parse cannot tell apart stay apart: %s', async (name, one, other) => {
    const record = (id: string) =>
      `{"post":{"id":${id},"title":"${name} ${id}","author":{"id":${id},"name":"by${id}"}},
        "comments":[{"id":${id},"content":"c${id}","author":"ann","replies":[]},{"id":2,"parent_id":${id},"content":"below c${id}","author":"ann"}]}`
    const text = `[${record(one)},${record(other)}]`
    const { body } = await send(text)
    expect(body).toMatchObject({ imported: { posts: 2, comments: 4 }, skipped: [] })
    for (const id of [one, other]) {
      expect(await readTree(`${name} ${id}`)).toEqual([[`c${id}`, [`below c${id}`]]])
    }
    expect((await send(text)).body.unchanged).toBe(2)
    // As text it is the same id.
    const quoted = text.replaceAll(/("(?:parent_)?id":)(-?\d+)/g, '$1"$2"')
    expect((await send(quoted)).body.unchanged).toBe(2)
  })

  test.each([
    ['a fraction', '1.5'],
    ['an exponent', '1e30'],
    ['a list', '[1]'],
    ['an object', '{"$oid":"5f"}'],
    ['true', 'true'],
  ])('H19: %s is no id, and is refused with the reason', async (_name, id) => {
    const { body } = await send(`[{"post":{"id":${id},"title":"No id"}}]`)
    expect(body.imported.posts).toBe(0)
    expect(body.skipped[0].reason).toMatch(/^post\.id: /)
  })

  test('H19: an empty id is none', async () => {
    const { body, tree } = await importThread([
      comment('', '', { content: 'x' }),
      comment('', '', { content: 'y' }),
    ])
    expect([body.imported.comments, tree]).toEqual([2, [['x'], ['y']]])
  })

  test('H19: comments that each post numbers anew are all there', async () => {
    for (const round of [1, 2]) {
      const records = ['A', 'B'].map((name) => ({
        post: { id: `numbered-${name}`, title: `Numbered ${name}`, author: 'ann' },
        comments: [comment(1), comment(2, 1), comment(3, 2)],
      }))
      const { body } = await send(records)
      expect(body.imported.comments).toBe(round === 1 ? 6 : 0)
      for (const name of ['A', 'B']) {
        expect(await readTree(`Numbered ${name}`)).toEqual([['c1', ['c2', ['c3']]]])
      }
    }
  })

  test('H19: a second comment with an id, and one that stands in the list twice, are named', async () => {
    const { body, tree } = await importThread([
      comment('x'),
      { ...comment('x'), content: 'another' },
      { content: 'twice', author: 'ann' },
      { content: 'twice', author: 'ann' },
      comment('y', 'x'),
      { ...comment('x'), replies: [comment('y')] },
    ])
    expect(tree).toEqual([['cx', ['cy']], ['twice']])
    expect(reasonsOf(body.skipped)).toEqual([
      expect.stringContaining('x: Comment: Another comment'),
      expect.stringContaining('twice'),
    ])
  })
})

describe('flat lists', () => {
  test.each<[string, unknown[], Tree[], string[]]>([
    ['parents first', [comment(1), comment(2, 1), comment(3, 2)], [['c1', ['c2', ['c3']]]], []],
    ['children first', [comment(3, 2), comment(2, 1), comment(1)], [['c1', ['c2', ['c3']]]], []],
    [
      'ids of two types',
      [comment('1'), comment(2, 1), comment(3, '2')],
      [['c1', ['c2', ['c3']]]],
      [],
    ],
    [
      'words for no parent',
      ['', '0', 0, -1, '-1', null, 'null'].map((parent, at) => comment(at + 1, parent)),
      [1, 2, 3, 4, 5, 6, 7].map((at): Tree => [`c${at}`]),
      [],
    ],
    [
      'its own parent',
      [comment(1, 1), comment(2, 1)],
      [['c1', ['c2']]],
      ['1: Comment: It is a reply to one of its own'],
    ],
    [
      'a circle of three with a tail',
      [comment(9, 8), comment(8, 1), comment(1, 3), comment(2, 1), comment(3, 2)],
      [['c1', ['c2', ['c3']], ['c8', ['c9']]]],
      ['1: Comment: It is a reply to one of its own'],
    ],
    [
      'a missing parent',
      [comment(1, 'root'), comment(2, 77), comment(3, 2)],
      [['c1'], ['c2', ['c3']]],
      ['1: Comment: What it replies to', '2: Comment: What it replies to'],
    ],
    [
      'a parent that is not valid',
      [comment(1, null, { content: 5 }), comment(2, 1)],
      [['c2']],
      ['2: Comment: What it replies to'],
    ],
    [
      'nested and flat at once',
      [{ ...comment(1), replies: [comment(2, 1)] }, comment(3, 2)],
      [['c1', ['c2', ['c3']]]],
      [],
    ],
  ])('H19: %s', async (_name, comments, tree, changes) => {
    const found = await importThread(comments)
    expect(found.tree).toEqual(tree)
    const reported = reasonsOf(found.body.changed)
    expect(reported).toEqual(changes.map((each) => expect.stringContaining(each)))
  })

  test('H19: the post as the parent is no parent', async () => {
    const { tree, body } = await importThread([comment(1, 'the post'), comment(2, 1)], {
      id: 'the post',
    })
    expect([tree, body.changed]).toEqual([[['c1', ['c2']]], []])
  })

  test('H19: a parent that an earlier import made is found', async () => {
    const { title } = await importThread([comment(1), comment(2, 1)])
    const { body } = await send([{ post: { id: title, title }, comments: [comment(3, 2)] }])
    expect(body).toMatchObject({ imported: { posts: 0, comments: 1 }, changed: [] })
    expect(await readTree(title)).toEqual([['c1', ['c2', ['c3']]]])
  })

  test('H19: any forest comes out as it was, in any order', async () => {
    const parents = fc.array(fc.nat(), { minLength: 1, maxLength: 25 })
    await fc.assert(
      fc.asyncProperty(parents, fc.infiniteStream(fc.nat()), async (given, keys) => {
        const forest = given.map((parent, at) => ({
          at,
          parent: at === 0 ? -1 : (parent % (at + 1)) - 1,
        }))
        const toTree = (parent: number): Tree[] =>
          forest
            .filter((each) => each.parent === parent)
            .map(({ at }): Tree => [`c${at + 1}`, ...toTree(at)])
            .sort()
        const depth = (at: number): number => (at < 0 ? 0 : 1 + depth(forest[at]?.parent ?? -1))
        fc.pre(forest.every(({ at }) => depth(at) <= limits.comment.depthMax))
        const shuffled = forest
          .map((each) => ({ each, key: keys.next().value as number }))
          .sort((one, other) => one.key - other.key)
          .map(({ each }) => comment(each.at + 1, each.parent < 0 ? null : each.parent + 1))
        const { tree, body } = await importThread(shuffled)
        expect(body).toMatchObject({
          skipped: [],
          changed: [],
          imported: { comments: given.length },
        })
        expect(tree).toEqual(toTree(-1))
      }),
      { numRuns: sampleSize(8, 25) },
    )
  })

  test('H19: any parents at all import every comment once, and again none', async () => {
    const parents = fc.array(fc.nat({ max: 30 }), { maxLength: 25 })
    await fc.assert(
      fc.asyncProperty(parents, async (given) => {
        const comments = given.map((parent, at) => comment(at + 1, parent))
        const { title, body } = await importThread(comments)
        expect(body.imported.comments).toBe(given.length)
        const record = { post: { id: title, title, author: 'ann' }, comments }
        expect((await send([record])).body).toMatchObject({
          imported: { posts: 0, comments: 0, accounts: 0 },
          unchanged: 1,
        })
      }),
      { numRuns: sampleSize(8, 25) },
    )
  })
})
