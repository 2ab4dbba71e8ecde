import { readD1Cost, withHub } from './hub.mjs'

const posts = 1000

/** A feed page of 25 posts out of 1,000: D1 round trips, authentication included, and rows read. */
export function measureFeed() {
  return withHub({}, async (_hub, api) => {
    for (let chunk = 0; chunk < posts / 100; chunk++) {
      await api(
        'POST',
        '/import',
        Array.from({ length: 100 }, (_, index) => describePost(chunk * 100 + index)),
      )
    }
    const { body, headers } = await api('GET', '/posts?sort=hot&limit=25')
    if (body.posts.length !== 25) throw new Error(`the feed has ${body.posts.length} posts`)
    const { roundTrips, rowsRead } = readD1Cost(headers)
    return [
      { name: 'feed.d1_round_trips', value: roundTrips, unit: 'round trips' },
      { name: 'feed.rows_read', value: rowsRead, unit: 'rows' },
    ]
  })
}

/** @param {number} number */
function describePost(number) {
  const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
  return {
    success: true,
    post: {
      id,
      title: `Post ${number}`,
      content: `Words of post ${number}.`,
      upvotes: (number * 7) % 50,
      downvotes: number % 3,
      created_at: new Date(Date.UTC(2026, 0, 1) + number * 3_600_000).toISOString(),
      submolt: { name: 'general' },
      author: { name: `author${number % 20}` },
    },
    comments: [],
  }
}
