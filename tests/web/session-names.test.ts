import { expect, test } from 'vitest'
import { describeSession, findSessionThread } from '../../src/web/agents/knows-page'

const post = '01a20845-d4a9-7c05-9754-b636fe485072'

test.each([
  [`ops_room_${post}`, 'Thread in m/ops_room', `/p/${post}`],
  ['dm_mira_p', 'Messages with @mira_p', null],
  [`manual_${post}`, 'A task given by hand', null],
  ['explore_scout', 'Explorations', null],
  ['scheduled_summarize-the-day', 'Schedule: summarize the day', null],
  ['general_t1', 'Session general_t1', null],
])('pages: the session %s is "%s"', (id, name, path) => {
  expect(describeSession(id)).toBe(name)
  expect(findSessionThread(id)?.path ?? null).toBe(path)
})
