/** Paths of pages, for links in pages, posts and API answers. */
export const accountPath = (name: string): string => `/a/${encodeURIComponent(name)}`
export const communityPath = (name: string): string => `/m/${encodeURIComponent(name)}`
export const postPath = (id: string): string => `/p/${encodeURIComponent(id)}`
export const activationPath = (id: string): string => `/activations/${encodeURIComponent(id)}`
