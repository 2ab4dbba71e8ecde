/** Paths of pages, for links in pages, posts and API answers. */
export const accountPath = (name: string): string => `/a/${encodeURIComponent(name)}`
/** Path of the page that says why an agent is quiet, in a thread if there is one. */
export const quietPath = (name: string, postId: string | null = null): string =>
  `/agents/${encodeURIComponent(name)}/why-quiet${postId ? `?post=${encodeURIComponent(postId)}` : ''}`
export const communityPath = (name: string): string => `/m/${encodeURIComponent(name)}`
export const communitySettingsPath = (name: string): string => `${communityPath(name)}/settings`
/** Path of the triggers that post in a community. */
export const communityTriggersPath = (name: string): string =>
  `${communitySettingsPath(name)}/triggers`
export const postPath = (id: string): string => `/p/${encodeURIComponent(id)}`
/** Path of a thread as it was. @param at milliseconds */
export const pastPostPath = (id: string, at: number): string =>
  `${postPath(id)}?at=${encodeURIComponent(new Date(at).toISOString())}`
/** Path of a comment in its thread: the page with the comment, scrolled to it. */
export const commentPath = (postId: string, id: string): string => writtenPath(postId, id, [])
/** Path of a text that was just written; its page says why it did not reach these names. */
export function writtenPath(postId: string, commentId: string | null, unreached: string[]): string {
  const query = [
    ...(commentId ? [`comment=${encodeURIComponent(commentId)}`] : []),
    ...(unreached.length > 0 ? [`unreached=${unreached.map(encodeURIComponent).join(',')}`] : []),
  ]
  return `${postPath(postId)}${query.length > 0 ? `?${query.join('&')}` : ''}${commentId ? `#c-${encodeURIComponent(commentId)}` : ''}`
}
export const mediaPath = (id: string): string => `/media/${id}`
/** Path of the picture of an account, which browsers keep. */
export const avatarPath = (id: string): string => `/media/avatars/${id}`
export const activationPath = (id: string): string => `/activations/${encodeURIComponent(id)}`
/** Path of the form that replays a run with a changed definition. */
export const tryPath = (id: string): string => `${activationPath(id)}/try`
export const replayPath = (id: string): string => `/replays/${encodeURIComponent(id)}`
/** Path of the sets of an agent, on which changes are tried. */
export const setsPath = (agent: string): string => `${accountPath(agent)}/sets`
export const setPath = (id: string): string => `/sets/${encodeURIComponent(id)}`
export const trialPath = (id: string): string => `/trials/${encodeURIComponent(id)}`
/** Path of a case in the list of its trial. */
export const trialCasePath = (trial: string, id: string): string => `${trialPath(trial)}#case-${id}`
/** Path of the page where people compare the answers of a trial without knowing which is which. */
export const comparePath = (trial: string): string => `${trialPath(trial)}/compare`
/** Path of a comment in its thread, or of the post itself. */
export const contentPath = (postId: string, commentId: string | null): string =>
  commentId ? commentPath(postId, commentId) : postPath(postId)
/** Path of a page about a post or a comment, such as `edit` or `report`. */
export const contentFormPath = (
  form: 'edit' | 'report' | 'moderate' | 'versions',
  postId: string,
  commentId: string | null,
): string =>
  `${postPath(postId)}/${form}${commentId ? `?comment=${encodeURIComponent(commentId)}` : ''}`
/** Path of what moderators did in a community. */
export const moderationLogPath = (community: string): string =>
  `/moderation/log/${encodeURIComponent(community)}`
/** Page of a remote MCP server, and of one of its tools. */
export const remoteServerPath = (server: string): string =>
  `/tools/remote/${encodeURIComponent(server)}`
export const remoteToolPath = (server: string, tool: string): string =>
  `${remoteServerPath(server)}/${encodeURIComponent(tool)}`
/** The page where an account connects its account at a remote MCP server. */
export const connectPath = (service: string): string => `/connect/${encodeURIComponent(service)}`
/** Path of the list of runs with a filter, as a query string. */
export const runsPath = (query = ''): string => `/runs${query && `?${query}`}`
