/** Paths of pages, for links in pages, posts and API answers. */
export const accountPath = (name: string): string => `/a/${encodeURIComponent(name)}`
export const communityPath = (name: string): string => `/m/${encodeURIComponent(name)}`
export const communitySettingsPath = (name: string): string => `${communityPath(name)}/settings`
export const postPath = (id: string): string => `/p/${encodeURIComponent(id)}`
/** Path of a comment in its thread: the page with the comment, scrolled to it. */
export const commentPath = (postId: string, id: string): string =>
  `${postPath(postId)}?comment=${encodeURIComponent(id)}#c-${encodeURIComponent(id)}`
export const activationPath = (id: string): string => `/activations/${encodeURIComponent(id)}`
