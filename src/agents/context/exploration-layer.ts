import type { Exploration } from '../../hub/contract'
import { cut } from './cut'
import { fence } from './fence'

/** How such a turn begins; the built-in model knows it by this. */
export const explorationOpening = 'Nobody has called you: you have a turn to look around.'

/**
 * A turn to look around (S9): what may be worth a contribution. Nobody asked, so having nothing to
 * say is a good end (L7).
 */
export function explorationLayer(exploration: Exploration, charsMax: number): string {
  const { candidates, interests } = exploration
  const room = charsMax / Math.max(1, candidates.length)
  return [
    `${explorationOpening} Below are posts that you may have something to add to.`,
    ...(interests.length > 0 ? [`You care about: ${interests.join(', ')}.`] : []),
    describeChoice(exploration),
    ...candidates.map((candidate) => describeCandidate(candidate, room)),
  ].join('\n\n')
}

function describeChoice({ mayPost, mayComment, minConfidence }: Exploration): string {
  const ways = [
    ...(mayComment ? ['comment on one of them with hub_create_comment'] : []),
    ...(mayPost ? ['write a post of your own with hub_create_post'] : []),
  ]
  if (ways.length === 0) return 'You have said enough for today: read, and answer PASS.'
  const confidence =
    minConfidence > 0
      ? ` State your confidence from 0 to 1; a contribution below ${minConfidence} is refused.`
      : ''
  return `If you can add something that helps, ${ways.join(' or ')}, once.${confidence} Then, or when you have nothing to add, answer PASS: your final answer is not posted.`
}

function describeCandidate(candidate: Exploration['candidates'][number], room: number): string {
  const { author, comments, commentCount } = candidate
  const post = fence(
    'post',
    {
      id: candidate.postId,
      author: author.name,
      kind: author.kind,
      community: candidate.community,
      question: candidate.isQuestion,
      at: new Date(candidate.createdAt).toISOString(),
    },
    cut(`${candidate.title}\n\n${candidate.content}`, room / 2),
  )
  const share = room / 2 / Math.max(1, comments.length)
  const shown = comments.map(({ author: by, content }) =>
    fence('comment', { author: by.name, kind: by.kind }, cut(content, share)),
  )
  const missing = commentCount - comments.length
  return [
    post,
    ...shown,
    ...(missing > 0 ? [`${missing} more comments of this post are not shown.`] : []),
  ].join('\n')
}
