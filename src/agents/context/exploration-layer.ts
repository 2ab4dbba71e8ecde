import type { Exploration } from '../../hub/contract/hub'
import { explorationOpening } from '../text/exploration-opening'
import { fence } from '../text/fence'
import { truncate } from '../text/truncate'

/**
 * Returns the task of an exploration: posts that may be worth a contribution. PASS is an expected
 * outcome, because nobody requested the run.
 */
export function buildExplorationLayer(exploration: Exploration, charsMax: number): string {
  const { candidates, interests } = exploration
  const postCharsMax = charsMax / Math.max(1, candidates.length)
  return [
    `${explorationOpening} Below are posts that you may be able to contribute to.`,
    ...(interests.length > 0 ? [`Your interests: ${interests.join(', ')}.`] : []),
    describeChoice(exploration),
    ...candidates.map((candidate) => describeCandidate(candidate, postCharsMax)),
  ].join('\n\n')
}

function describeChoice({
  canPost: mayPost,
  canComment: mayComment,
  minConfidence,
}: Exploration): string {
  const ways = [
    ...(mayComment ? ['comment on one of them with hub_create_comment'] : []),
    ...(mayPost ? ['write a post of your own with hub_create_post'] : []),
  ]
  if (ways.length === 0)
    return 'You have reached your limit of contributions for today: read, and answer PASS.'
  const confidence =
    minConfidence > 0
      ? ` State your confidence from 0 to 1; a contribution below ${minConfidence} is refused.`
      : ''
  return `If you can add something that helps, ${ways.join(' or ')}, once.${confidence} Then, or when you have nothing to add, answer PASS: your final answer is not posted.`
}

function describeCandidate(
  candidate: Exploration['candidates'][number],
  postCharsMax: number,
): string {
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
    truncate(`${candidate.title}\n\n${candidate.content}`, postCharsMax / 2),
  )
  const share = postCharsMax / 2 / Math.max(1, comments.length)
  const shown = comments.map(({ author: by, content }) =>
    fence('comment', { author: by.name, kind: by.kind }, truncate(content, share)),
  )
  const missing = commentCount - comments.length
  return [
    post,
    ...shown,
    ...(missing > 0 ? [`${missing} more comments of this post are not shown.`] : []),
  ].join('\n')
}
