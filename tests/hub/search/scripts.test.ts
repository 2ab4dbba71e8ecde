import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createTestHub } from '../create-test-hub'

const hub = createTestHub()
let mira: Awaited<ReturnType<typeof hub.join>>

/** Titles and contents in scripts of many kinds. */
const texts: Record<string, string> = {
  Japanese: '昨日、東京都庁の展望台へ行きました。コーヒーがおいしかったです。',
  Chinese: '我们决定把会议改到星期五下午，请大家准时参加。',
  Thai: 'วันนี้อากาศดีมาก เราไปเที่ยวทะเลกันเถอะ',
  Khmer: 'ខ្ញុំចូលចិត្តអានសៀវភៅ',
  Burmese: 'ကျွန်တော် စာအုပ် ဖတ်ရတာ ကြိုက်တယ်',
  Korean: '내일 회의는 열 시에 시작합니다',
  German: 'Die Größe der Straße ist nicht bekannt.',
  Turkish: 'İSTANBUL ve ısırgan',
  Greek: 'Ὀδυσσεύς καὶ ΠΗΝΕΛΌΠΗ',
  Wide: 'Ｒｏｏｋｅｒｙ ２０２６ and ｶﾞｲﾄﾞ',
  Ligatures: 'The oﬃce of the ﬁsher, 5 km² wide',
  Decomposed: 'Cafe\u0301 re\u0301sume\u0301',
  Mixed: 'Deploy報告2026をscoutに聞く',
}

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  for (const [title, content] of Object.entries(texts)) {
    const body = { community: 'general', title, content }
    expect((await hub.call('/posts', { key: mira.key, body })).status).toBe(201)
  }
})

const find = async (query: string) => {
  const { body } = await hub.call(`/search?q=${encodeURIComponent(query)}&type=posts`)
  return body.results.map(({ title, snippet }: { title: string; snippet: string }) => ({
    title,
    marked: [...snippet.matchAll(/\u2068(.*?)\u2069/g)].map(([, text]) => text),
  }))
}

test.each([
  ['東京', 'Japanese', '東京'],
  ['都庁', 'Japanese', '都庁'],
  ['コーヒー', 'Japanese', 'コーヒー'],
  ['展望台へ行きました', 'Japanese', '展望台へ行きました'],
  ['星期五', 'Chinese', '星期五'],
  ['会议', 'Chinese', '会议'],
  ['請', null, ''],
  ['ทะเล', 'Thai', 'ทะเล'],
  ['สៀវភៅ', null, ''],
  ['សៀវភៅ', 'Khmer', 'សៀវភៅ'],
  ['စာအုပ်', 'Burmese', 'စာအုပ်'],
  ['회의는', 'Korean', '회의는'],
  ['GRÖSSE', 'German', 'Größe'],
  ['größe', 'German', 'Größe'],
  ['strasse', 'German', 'Straße'],
  ['istanbul', 'Turkish', 'İSTANBUL'],
  ['ISIRGAN', 'Turkish', 'ısırgan'],
  ['ὈΔΥΣΣΕΎΣ', 'Greek', 'Ὀδυσσεύς'],
  ['πηνελόπη', 'Greek', 'ΠΗΝΕΛΌΠΗ'],
  ['rookery', 'Wide', 'Ｒｏｏｋｅｒｙ'],
  ['2026 rookery', 'Wide', 'Ｒｏｏｋｅｒｙ'],
  ['ガイド', 'Wide', 'ｶﾞｲﾄﾞ'],
  ['ｒｏｏｋｅｒｙ', 'Wide', 'Ｒｏｏｋｅｒｙ'],
  ['office', 'Ligatures', 'oﬃce'],
  ['FISHER', 'Ligatures', 'ﬁsher'],
  ['km2', 'Ligatures', 'km²'],
  ['café', 'Decomposed', 'Cafe\u0301'],
  ['resume', 'Decomposed', 're\u0301sume\u0301'],
  ['報告', 'Mixed', '報告'],
  ['deploy', 'Mixed', 'Deploy'],
  ['scout', 'Mixed', 'scout'],
  ['京東', null, ''],
  ['告報', null, ''],
])('H8: "%s" finds %s and marks %s', async (query, title, marked) => {
  const found = await find(query)
  expect(found.map((each: { title: string }) => each.title)).toEqual(title ? [title] : [])
  if (title) expect(found[0].marked).toContain(marked)
})

test('H8: a changed, deleted or erased text is found by its new words only', async () => {
  const body = { community: 'general', title: '桜の季節', content: '花見をします' }
  const { body: made } = await hub.call('/posts', { key: mira.key, body })
  const path = `/posts/${made.post.id}`
  const comment = await hub.call(`${path}/comments`, {
    key: mira.key,
    body: { content: '私も行きたい' },
  })
  expect((await find('花見')).length).toBe(1)
  await hub.call(path, { method: 'PATCH', key: mira.key, body: { title: '梅の季節' } })
  expect([await find('桜'), (await find('梅')).length, (await find('花見')).length]).toEqual([
    [],
    1,
    1,
  ])
  await hub.call(path, { method: 'PATCH', key: mira.key, body: { content: 'Nothing' } })
  expect(await find('花見')).toEqual([])
  const search = async (query: string) =>
    (await hub.call(`/search?q=${encodeURIComponent(query)}`)).body.results
  const [hit] = await search('行きたい')
  expect(hit).toMatchObject({ type: 'comment', snippet: '私も\u2068行きたい\u2069' })
  await hub.call(`/comments/${comment.body.comment.id}`, {
    method: 'PATCH',
    key: mira.key,
    body: { content: '私は家にいます' },
  })
  expect([(await search('行きたい')).length, (await search('家に')).length]).toEqual([0, 1])
})

test('H8: accounts and communities are found by their names in any script', async () => {
  const search = async (query: string) =>
    (await hub.call(`/search?q=${encodeURIComponent(query)}`)).body.results
  await hub.call('/me', {
    method: 'PATCH',
    key: mira.key,
    body: { display_name: '王小明', description: 'Größe und Straße' },
  })
  await hub.call('/communities', {
    key: mira.key,
    body: { name: 'tea', display_name: '茶道部', description: '一緒に飲みましょう' },
  })
  for (const [query, type] of [
    ['小明', 'account'],
    ['GRÖSSE', 'account'],
    ['茶道', 'community'],
    ['飲みましょう', 'community'],
  ] as const) {
    const found = (await search(query)).filter((each: { type: string }) => each.type === type)
    expect(found, query).toHaveLength(1)
  }
})

test('H8: characters of a text forge no highlight', async () => {
  const content = 'The \u2068forged\u2069 match and the heron.'
  await hub.call('/posts', { key: mira.key, body: { community: 'general', title: 'F', content } })
  expect((await find('heron'))[0].marked).toEqual(['heron'])
})

test('H8: texts that the index reads as they are, are not stored twice', async () => {
  const content = 'Words, naïve cafés, “quotes” … – 😀 and Ελλάδα, Москва.'
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Plain', content },
  })
  const row = await env.DB.prepare('SELECT search_title, search_content FROM posts WHERE id = ?')
    .bind(body.post.id)
    .first()
  expect(row).toEqual({ search_title: null, search_content: null })
})
