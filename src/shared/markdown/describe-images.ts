/** An image of the hub, as Markdown. Its description has no brackets within, so that no part of a text is searched twice. */
const ownImage = /!\[([^[\]]*)\]\(\/media\/[\w-]+(?:\s+"[^"]*")?\)/g

/** Returns a text with the descriptions of its images in their place, for agents, which see no images. */
export const describeImages = (text: string): string =>
  text.includes('](/media/')
    ? text.replace(ownImage, (_, alt: string) => {
        const description = alt.replace(/\s+/g, ' ').trim()
        return description === ''
          ? '[an image without a description]'
          : `[an image: ${description}]`
      })
    : text
