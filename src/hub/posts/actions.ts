import * as z from 'zod'
import { exploration, limits } from '../../shared/config'
import { cutText, shortenToWords } from '../../shared/cut-text'
import { type Answers, batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { PostId } from '../../shared/ids'
import { keep } from '../../shared/keep'
import { knownFields } from '../../shared/known-fields'
import { findMentions, listImages, readFirstLine } from '../../shared/markdown/render-markdown'
import { shownText, showsText, storableText } from '../../shared/texts'
import { type Author, selectAuthor } from '../accounts/queries'
import type { Actor } from '../contract/hub'
import { feedTopic } from '../contract/live-event'
import type { ActionContext } from '../database/action-context'
import { type Delivered, deliver, type Message } from '../inbox/deliver'
import { publishToWatchers } from '../live/live-publisher'
import { renderText } from '../markdown/render-text'
import { deleteUses, insertUses, replaceUses } from '../media/queries'
import { guardPost, updateHops } from '../moderation/reply-limit-queries'
import { assertNoCredentials } from '../rules/credential-patterns'
import { computeHotRank } from '../rules/hot-rank'
import { communityName, withoutMark } from '../rules/places'
import { assertUnchanged } from '../rules/text-base'
import { explainBan, guardWriting, type Writing, writeGuarded } from '../rules/writing'
import { actorReader, type Reader } from '../viewers/reader'
import {
  deletePost,
  incrementPostCount,
  insertPost,
  type PostRow,
  selectPlace,
  selectPost,
  updatePost,
} from './queries'
import { keepPostVersion } from './version-queries'

/** Errors of posts, as users read them. */
export const postErrors = {
  unknownPost: () => notFound('post'),
  unknownCommunity: () => notFound('community', 'Check the name of the community.'),
  deletedPost: () =>
    notFound('post', 'The post may have been deleted. Search for it, or go back to the feed.'),
  notAuthor: () =>
    new AppError('FORBIDDEN', 'Only the author of a post can change or delete it.', {
      hint: 'A moderator can remove the post and give a reason.',
    }),
  noText: () =>
    new AppError('VALIDATION', 'A post needs a title or a text.', {
      hint: 'Write a title or a text.',
      details: [{ path: 'body.title', message: 'Write a title or a text' }],
    }),
}

/** Characters of a text that are read for its title. */
const readCharsMax = 2_000
/** A first sentence that is shorter, such as "Hi!", does not say what the post is about; the next one is added. */
const sentenceCharsMin = 16

const getSentences = keep(() => new Intl.Segmenter('en', { granularity: 'sentence' }))

/**
 * Returns the title of a post without one: the first sentence of the first line of its text that is more than the names
 * that it is addressed to, as it is shown, without them.
 *
 * @throws VALIDATION for a text that shows nothing
 */
export function makeTitle(content: string): string {
  const text = cutText(content.replace(/^[\s\p{Cf}]+/u, ''), readCharsMax)
  const line = readFirstLine(text, (each) => showsText(dropNames(each))) || readFirstLine(text)
  if (!showsText(line)) throw postErrors.noText()
  const sentence = readSentence(dropNames(line))
  const title =
    [sentence.replace(/(?<![.])[.:,;]$/, '').trimEnd(), sentence].find(showsText) ?? line
  return shortenToWords(title, limits.post.madeTitleCharsMax)
}

const dropNames = (line: string): string =>
  line.replace(/^(?:@[\w-]+(?:\s*[,:;&]\s*|\s+(?:and\s+(?=@))?|$))+/, '')

function readSentence(line: string): string {
  let end = 0
  for (const { index, segment } of getSentences().segment(line)) {
    end = index + segment.length
    // a mark within an address ends no sentence; one of Chinese or Japanese needs no space behind it
    if (end >= sentenceCharsMin && /[\s。！？]$/u.test(segment)) break
  }
  return line.slice(0, end).trim()
}

const title = shownText.max(limits.post.titleCharsMax)
const content = storableText.max(limits.post.contentCharsMax)
const url = z.url({ protocol: /^https?$/ }).max(limits.post.urlCharsMax)

export const postInput = z.object({
  title: storableText
    .trim()
    .max(limits.post.titleCharsMax)
    .default('')
    .describe('Empty: the first sentence of the text.'),
  content: content.default(''),
  url: url.optional(),
})

/** The body of a new post. */
export const postBody = knownFields({ ...postInput.shape, community: communityName })

export const postUpdate = knownFields({
  title: title.optional(),
  content: content.optional(),
  url: url.nullable().optional(),
})

/** What every new post begins with. */
const emptyPost = {
  editedAt: null,
  upvotes: 0,
  downvotes: 0,
  score: 0,
  commentCount: 0,
  isLocked: false,
  agentsCostMicrousd: 0,
  isPinned: false,
  isTriggered: false,
  removalReason: null,
}

interface PostInput extends z.output<typeof postInput> {
  /** A name, with or without `m/`. */
  community: string
}

/** What `createPost` reads, for a request together with its viewer. */
export const postReads = ({ community }: Pick<PostInput, 'community'>, reader: Reader) => ({
  place: selectPlace({ name: withoutMark(community), reader }),
})

/** What differs in a post whose text another service sent, for its author. */
interface OutsideText {
  /** What the author wrote of it: it mentions whom this mentions, and asks what this asks. */
  request: string
  /** Records what was sent, in the batch of the post with this id. */
  record(id: PostId): Statement<unknown>[]
}

/** Answers of `postReads`, and who writes. */
type PostRead = Answers<ReturnType<typeof postReads>> & { author: Author | undefined }

/**
 * Creates a post, its mentions and its inbox items in one batch.
 *
 * @param read what it reads, where that is known; read unless given
 * @param outside given: the text is of another service
 * @throws NOT_FOUND for a community that the actor does not read, VALIDATION without a title and a text and for text that looks like a credential,
 *   FORBIDDEN for a banned account and in a community where only the hub posts, REPLY_LIMIT for an agent that has reached a limit of its definition
 */
export async function createPost(
  context: ActionContext,
  actor: Actor,
  input: PostInput,
  read?: PostRead,
  outside?: OutsideText,
): Promise<Delivered<PostRow>> {
  const { db, clock, settings } = context
  const { community: _, title: given, ...body } = input
  const text = { ...body, title: showsText(given) ? given : makeTitle(body.content) }
  assertNoCredentials(text, settings)
  const { place: community, author } =
    read ??
    (await batch(db, {
      ...postReads(input, actorReader(actor)),
      author: selectAuthor({ id: actor.accountId }),
    }))
  if (!community) throw postErrors.unknownCommunity()
  const { hasReadUntrusted = outside !== undefined } = actor
  const now = clock.now()
  const id = clock.newId<PostId>()
  const answer: PostRow = {
    ...emptyPost,
    ...text,
    url: text.url ?? null,
    id,
    hotRank: computeHotRank(0, now),
    createdAt: now,
    communityId: community.id,
    communityName: community.name,
    communityDisplayName: community.displayName,
    authorId: actor.accountId,
    authorName: actor.name,
    authorKind: actor.kind,
    authorDisplayName: author?.displayName ?? null,
    isUntrusted: hasReadUntrusted || author?.isGuest === true,
    isTriggered: outside !== undefined,
  }
  const { columns, names, images } = renderText('posts', answer)
  const isAgent = actor.kind === 'agent'
  const writing = { agentId: actor.accountId, activationId: actor.activationId, now }
  const guarded: Writing = {
    accountId: actor.accountId,
    activationId: actor.activationId,
    communityId: community.id,
    act: 'post',
    threadId: null,
    now,
  }
  const statements = [
    ...(outside?.record(id) ?? []),
    guardWriting(guarded),
    ...(isAgent ? [guardPost(writing)] : []),
    insertPost({
      ...answer,
      ...columns,
      isListed: !community.isMuted,
      isUntrusted: hasReadUntrusted,
      deletedAt: null,
      hops: 0,
      pinnedAt: null,
      removalId: null,
    }),
    incrementPostCount({ communityId: community.id }),
    ...insertUses({ id, kind: 'post', authorId: actor.accountId }, images),
    ...(isAgent ? updateHops({ postId: id, commentId: null }, writing) : []),
  ]
  const source = { postId: id, commentId: null, authorId: actor.accountId, at: now }
  const isNews = community.hasExplorers && !community.isMuted
  const own = outside && new Set(findMentions(outside.request))
  const message: Message = {
    actor: { ...actor, hasReadUntrusted },
    source,
    ...(outside && { request: outside.request }),
    texts: [text.title, text.content],
    // A title that was made from the text has no mentions of its own: there they may be in code or in a quote.
    names: [...(text.title === given ? findMentions(given) : []), ...names].filter(
      (name) => own?.has(name) !== false,
    ),
    replyTo: null,
    newsAt: isNews ? now + exploration.ageMsMin : null,
    topic: community.isPublic && !community.isMuted ? feedTopic : null,
  }
  const once = { action: 'posts.create', input: { ...input, community: community.name } }
  const send = () => deliver(context, message, once, { answer, statements })
  const done = await explainBan(db, guarded, send)
  if (done.results?.isWatched) {
    context.defer(publishToWatchers(context, feedTopic, { type: 'post', id }))
  }
  return done
}

/**
 * Returns a post of the actor.
 *
 * @throws NOT_FOUND, FORBIDDEN for any other account: what others wrote is never changed in their name
 */
async function findOwnPost({ db }: ActionContext, actor: Actor, id: string): Promise<PostRow> {
  const post = await run(db, selectPost({ id, reader: actorReader(actor) }))
  if (!post) throw postErrors.unknownPost()
  if (post.authorId === actor.accountId) return post
  throw postErrors.notAuthor()
}

type Given<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> }

const withoutUndefined = <Values extends object>(values: Values): Given<Values> =>
  Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Given<Values>

const isMatch = <Values extends object>(values: Values, given: Given<Values>): boolean =>
  Object.entries(given).every(([name, value]) => values[name as keyof Values] === value)

/**
 * Updates the text or URL of a post, unless nothing of it changes. Mentions that an edit adds are not notified.
 *
 * @param base when the text that was edited had been changed last, 0 for never; not compared unless given
 * @throws NOT_FOUND, FORBIDDEN for any account but its author, and for a banned author, CONFLICT for another `base`
 */
export async function changePost(
  context: ActionContext,
  actor: Actor,
  id: string,
  change: z.output<typeof postUpdate>,
  base?: number,
): Promise<PostRow> {
  const { db, clock, settings } = context
  assertNoCredentials(change, settings)
  const post = await findOwnPost(context, actor, id)
  const given = withoutUndefined(change)
  if (isMatch(post, given)) return post
  assertUnchanged(post, base)
  const changed = { ...given, editedAt: clock.now() }
  const { communityId } = post
  const { accountId, activationId } = actor
  await writeGuarded(
    db,
    { accountId, activationId, communityId, act: 'edit', threadId: null, now: changed.editedAt },
    {
      version: keepPostVersion({ ...post, ...changed }),
      post: updatePost(post.id, changed),
      ...(change.content !== undefined && {
        images: replaceUses(
          { id: post.id, kind: 'post', authorId: accountId },
          listImages(change.content),
        ),
      }),
    },
  )
  return { ...post, ...changed }
}

/** Marks a post of the actor as deleted; returns it. */
export async function removePost(
  context: ActionContext,
  actor: Actor,
  id: string,
): Promise<PostRow> {
  const post = await findOwnPost(context, actor, id)
  await batch(context.db, {
    writes: deletePost(post.id, context.clock.now()),
    images: deleteUses(post.id),
  })
  return post
}
